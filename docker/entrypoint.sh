#!/bin/sh
# What both images run; arguments are options of `dragoman serve`.
set -eu

# Plans for the GPU at hand, into a volume: only what is missing or stale is built.
if [ "${DRAGOMAN_ENGINE:-}" = tensorrt ] && ! dragoman compile /models --plans "$DRAGOMAN_PLANS"; then
    case "${DRAGOMAN_FALLBACK:-none}" in
    none) exit 2 ;;
    *) echo "dragoman: no plans, so that DRAGOMAN_FALLBACK=$DRAGOMAN_FALLBACK will serve" >&2 ;;
    esac
fi

exec dragoman serve /models --host 0.0.0.0 "$@"
