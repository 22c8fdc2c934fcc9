# The benchmark of the demo, in plain shell: three steps, each of which waits for its data and then turns a loop as often
# as the machine manages in about half a second. The last line that a step prints counts its work.
loops=@LOOPS@

# fetch: waits for the data, without work.
fetch() {
  sleep @WAIT@
}

# turn N: the work of a step, N times.
turn() {
  i=0
  sum=0
  while [ "$i" -lt "$1" ]; do
    sum=$(( (sum * 31 + i) % 65521 ))
    i=$(( i + 1 ))
  done
}

case "$1" in
  load) fetch; turn "$loops" ;;
  join) fetch; turn "$loops" ;;
  store) fetch; turn "$loops" ;;
  *) echo "usage: sh bench.sh load|join|store" >&2; exit 64 ;;
esac
echo "{\"items\": $loops}"
