"""Run a model (and with a window) in a real llama.cpp engine, print its address, end when input is closed."""

import sys

from xllamacpp import CommonParams, Server  # type: ignore[import-untyped]

WINDOW = 16_384


def main() -> None:
    params = CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = int(sys.argv[2]) if len(sys.argv) > 2 else WINDOW
    params.n_parallel, params.n_gpu_layers = 1, 0
    # One thread: the engine's threads wait for each other by spinning, and tests share the machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 4
    params.cache_ram_mib = 64
    params.port = 0
    server = Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
