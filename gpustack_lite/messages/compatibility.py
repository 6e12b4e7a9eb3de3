"""Sentences about versions that go together or do not: driver, firmware, CANN, CUDA, chip and engine."""

SENTENCES: dict[str, tuple[str, str]] = {
    "compatibility_unlisted": (
        "Whether {backend} runs on {chip} is not in the compatibility data.",
        "兼容性数据中没有 {backend} 在 {chip} 上运行的记录。",
    ),
    "engine_on_chip": ("{backend} is documented for {chip}.", "{backend} 的文档支持 {chip}。"),
    "engine_chip_unlisted": (
        "{backend} is documented for {chips}; {chip} is not among them, nor said not to work.",
        "{backend} 的文档支持 {chips}；{chip} 不在其中，也未说明不支持。",
    ),
    "engine_not_on_chip": ("{backend} does not run on {chip}.", "{backend} 不支持 {chip}。"),
    "remedy_engine_chips": (
        "Choose devices of {chips}, or another backend.",
        "请选择 {chips} 设备，或更换后端。",
    ),
    "engine_version_unlisted": (
        "What {backend} {version} needs is not in the compatibility data.",
        "兼容性数据中没有 {backend} {version} 的要求。",
    ),
    "host_tells_no_driver": (
        "{host} does not say which driver it has, so that nothing can be said of {backend}.",
        "{host} 未提供驱动版本，因此无法判断 {backend} 是否适用。",
    ),
    "cann_fits": (
        "{backend} {version} is documented for CANN {needed}; {host} has {cann}.",
        "{backend} {version} 的文档要求 CANN {needed}；{host} 上为 {cann}。",
    ),
    "cann_differs": (
        "{backend} {version} needs CANN {needed}, and {host} has CANN {cann}.",
        "{backend} {version} 需要 CANN {needed}，而 {host} 上是 CANN {cann}。",
    ),
    "remedy_engine_for_cann": (
        "Use {backend} {versions}, which is made for CANN {cann}, or install CANN {needed}.",
        "请使用适配 CANN {cann} 的 {backend} {versions}，或安装 CANN {needed}。",
    ),
    "remedy_cann": ("Install CANN {needed}.", "请安装 CANN {needed}。"),
    "cann_drivers_unlisted": (
        "Which drivers CANN {cann} runs on is not in the compatibility data; {host} has {driver}.",
        "兼容性数据中没有 CANN {cann} 所需驱动的记录；{host} 上为 {driver}。",
    ),
    "driver_fits": (
        "CANN {cann} is documented for drivers {drivers}; {host} has {driver}.",
        "CANN {cann} 的文档支持驱动 {drivers}；{host} 上为 {driver}。",
    ),
    "driver_unlisted": (
        "CANN {cann} is documented for drivers {drivers}; nothing is said of {driver}, which {host} has.",
        "CANN {cann} 的文档支持驱动 {drivers}；未提及 {host} 上的 {driver}。",
    ),
    "driver_too_old": (
        "CANN {cann} needs a driver of {oldest} or newer, and {host} has {driver}.",
        "CANN {cann} 需要 {oldest} 或更新的驱动，而 {host} 上是 {driver}。",
    ),
    "remedy_driver": (
        "Install driver and firmware of one of {drivers}.",
        "请安装 {drivers} 之一的驱动和固件。",
    ),
    "remedy_driver_or_engine": (
        "Install driver and firmware of one of {drivers}, or use {backend} {versions}, whose CANN runs on {driver}.",
        "请安装 {drivers} 之一的驱动和固件，或使用 {backend} {versions}，其 CANN 支持 {driver}。",
    ),
    "capability_fits": (
        "{backend} {version} needs compute capability {needed}; {chip} has {capability}.",
        "{backend} {version} 需要计算能力 {needed}；{chip} 为 {capability}。",
    ),
    "capability_too_low": (
        "{backend} {version} with CUDA {cuda} needs compute capability {needed}, and {chip} has {capability}.",
        "使用 CUDA {cuda} 的 {backend} {version} 需要计算能力 {needed}，而 {chip} 为 {capability}。",
    ),
    "remedy_capability": (
        "Choose devices of compute capability {needed} or more, or llama_cpp.",
        "请选择计算能力不低于 {needed} 的设备，或使用 llama_cpp。",
    ),
    "nvidia_driver_fits": (
        "{backend} {version} uses CUDA {cuda}, which needs driver {needed} or newer; {host} has {driver}.",
        "{backend} {version} 使用 CUDA {cuda}，需要驱动 {needed} 或更新；{host} 上为 {driver}。",
    ),
    "nvidia_driver_too_old": (
        "{backend} {version} uses CUDA {cuda}, which needs driver {needed} or newer, and {host} has {driver}.",
        "{backend} {version} 使用 CUDA {cuda}，需要驱动 {needed} 或更新，而 {host} 上是 {driver}。",
    ),
    "remedy_nvidia_driver": ("Install driver {needed} or newer.", "请安装 {needed} 或更新的驱动。"),
    "remedy_nvidia_driver_or_engine": (
        "Install driver {needed} or newer, or use {backend} older than {before}, made with CUDA {other_cuda}.",
        "请安装 {needed} 或更新的驱动，或使用早于 {before}、以 CUDA {other_cuda} 构建的 {backend}。",
    ),
}
