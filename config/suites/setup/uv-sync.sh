# Makes the environment of a job from the lock file of the commit that is measured. The job runs this in bash, in the
# unpacked commit, before the benchmark. Options are those of the official command line with --extra cpu; an arm that is
# prepared in another way than people's own jobs would not be comparable with them.
set -e
cd "$IRIS_WORKDIR"
echo 'zephyr-ab: uv sync'
# --frozen: what is locked is what is measured. A commit without a lock file is resolved anew.
frozen=
if [ -f uv.lock ]; then frozen=--frozen; fi
# Workers choose how files get from the cache into the environment; copying always works.
uv sync $frozen --link-mode "${UV_LINK_MODE:-copy}" --python 3.12 --all-packages --no-dev --extra cpu
