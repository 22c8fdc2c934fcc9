"""Answers cases by the reference: one JSON case a line on stdin, one JSON answer a line on stdout.
{"ok": result} | {"usage_error": text} | {"crash": text}; what is not finite is null."""
import json
import math
import sys
import warnings

from oracle import UsageError, judge


def finite(value):
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def refuse(word):
    raise UsageError(f"case: expected JSON, not {word}")


def answer(line):
    try:
        return {"ok": finite(judge(json.loads(line, parse_constant=refuse)))}
    except UsageError as error:
        return {"usage_error": str(error)}
    except json.JSONDecodeError as error:
        return {"usage_error": f"case: expected JSON: {error}"}
    except Exception as error:
        return {"crash": f"{type(error).__name__}: {error}"}


def main():
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(answer(line)), flush=True)


main()
