"""One run of TorchTitan 0.3.0's own trainer on the CPU at its llama3 debug model; the last line is JSON.

Usage: torchtitan_debug.py FOLDER eager|compiled STEPS. FOLDER holds tests/assets/tokenizer and tests/assets/c4_test.
No file of TorchTitan is edited. Two things that it lacks on a CPU are supplied from outside: the statistics half of
torch.cpu's device interface, and an attention class with a CPU backward (its scaled-dot-product class, which is causal
without document masks, so its work is no larger than ours).
"""
import json
import os
import resource
import statistics
import sys
import time

MODEL, BATCH, CONTEXT = "llama3_debugmodel", 8, 2048
THREADS = 2


def set_environment():
    port = str(29000 + os.getpid() % 1000)
    for key, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": port, "OMP_NUM_THREADS": str(THREADS)}.items():
        os.environ.setdefault(key, value)


def adapt_to_cpu():
    import torch
    torch.set_num_threads(THREADS)
    torch._utils._get_available_device_type = lambda: "cpu"

    class Properties:
        total_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        name = "cpu"

    def peak(device=None):
        return {"reserved_bytes.all.peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}

    supplied = {"get_device_name": lambda device=None: "cpu", "get_device_properties": lambda device=None: Properties,
                "reset_peak_memory_stats": lambda device=None: None, "empty_cache": lambda: None, "memory_stats": peak}
    for name, function in supplied.items():
        if not hasattr(torch.cpu, name):
            setattr(torch.cpu, name, function)
    torch.cpu.current_device = lambda: 0
    import torchtitan.tools.utils
    torchtitan.tools.utils.get_local_device = lambda: torch.device("cpu")


def use_cpu_attention():
    import torchtitan.models.common.attention as attention
    import torchtitan.models.llama3  # noqa: F401  (imports what holds the function below)

    def config(backend):
        return attention.ScaledDotProductAttention.Config()
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("torchtitan.") and hasattr(module, "get_attention_config"):
            module.get_attention_config = config


def make_config(compiled, steps):
    from torchtitan.models.llama3 import config_registry
    config = getattr(config_registry, MODEL)()
    config.training.steps = steps
    config.training.local_batch_size = BATCH
    config.training.seq_len = CONTEXT
    config.training.disable_cuda_graphs = True
    config.training.dtype = "float32"
    config.training.mixed_precision_param = "bfloat16"
    config.training.mixed_precision_reduce = "float32"
    config.activation_checkpoint = None
    config.compile.enable = compiled
    config.checkpoint.enable = False
    config.validator.enable = False
    config.metrics.log_freq = 1
    config.metrics.enable_tensorboard = False
    return config


def main():
    folder, mode, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.chdir(folder)
    set_environment()
    adapt_to_cpu()
    import torchtitan.trainer
    from torchtitan.tools.logging import init_logger
    init_logger()
    use_cpu_attention()
    times = []
    train_step = torchtitan.trainer.Trainer.train_step

    def timed(self, iterator):
        start = time.time()
        result = train_step(self, iterator)
        times.append(time.time() - start)
        return result
    torchtitan.trainer.Trainer.train_step = timed
    make_config(mode == "compiled", steps).build().train()
    seconds = statistics.median(times[2:])
    print(json.dumps({"tokens_per_second": BATCH * CONTEXT / seconds, "step_seconds": seconds,
                      "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
