"""How many processes an MPI launcher has started together, by what it puts into the environment."""
import os

NAMES = "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE"
BY_SLURM = "SLURM_STEP_NUM_TASKS"          # counts where srun offers PMIx, which has no number of its own


def processes():
    """How many there are; 1 without a launcher."""
    names = [*NAMES, *[BY_SLURM] * ("PMIX_RANK" in os.environ)]
    return max([1, *(int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit())])
