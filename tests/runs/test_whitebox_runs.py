"""A run whose judge is a white-box model, through the command line."""

import pandas as pd
import pytest
import torch

TEMPLATE = (
    "{% for m in messages %}<u>{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}"
)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small random model whose tokens are bytes; it prefers T and F to other letters."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("judge")
    words = ["<s>", "</s>", "<u>", "<a>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=["<u>", "<a>"],
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=8192,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        head = model.get_output_embeddings().weight
        head[[words.index("T"), words.index("F")]] *= 8
    model.save_pretrained(folder)
    return f"whitebox/{folder}"


@pytest.mark.slow
def test_cobe_is_judged_by_the_next_tokens_probabilities(quick_contrafact, tmp_path, judge):
    result = quick_contrafact(
        "run", "cobe", "--model", judge, "--judge", judge, "--limit", "1", "--max-tokens", "8",
        "--temperature", "0", "--out", "run",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    verdicts = pd.read_parquet(tmp_path / "run" / "verdicts.parquet")
    assert len(verdicts) >= 3 and set(verdicts["judge"]) == {judge}
    told = verdicts["probability"].notna()
    assert told.any()
    assert verdicts.loc[told, "probability"].between(0, 1).all()
    rows = pd.read_csv(tmp_path / "run" / "usage.csv")
    assert rows["model"].tolist() == [judge]
    assert rows["cached_tokens"].iloc[0] > 0
