# What Iris itself needs in the environment of a job: cloudpickle for entry points that are functions, py-spy and memray
# for its profiles. Without them a job still runs, so that a failure here only says so.
cd "$IRIS_WORKDIR" 2>/dev/null || true
if [ -d "$IRIS_VENV" ]; then
  echo 'zephyr-ab: packages of Iris'
  uv pip install --link-mode "${UV_LINK_MODE:-copy}" cloudpickle py-spy memray ||
    echo 'zephyr-ab: packages of Iris could not be installed; the job goes on without profiles'
fi
