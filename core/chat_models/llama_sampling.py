"""Choosing the next token with llama.cpp: greedy or by chance, and within a grammar where a JSON schema is given."""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import ConfigError


class Sampler:
    """Picks the next token. A context manager, so that it is freed whatever happens."""

    def __init__(self, c, context, vocab, temperature: float, top_p: float, seed: int, grammar: str | None) -> None:
        self._c, self._context = c, context
        self._chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
        if grammar is not None:
            made = c.llama_sampler_init_grammar(vocab, grammar.encode(), b"root")
            if not made:
                self.close()
                raise ConfigError("this JSON schema can't be turned into a grammar; use simpler types")
            c.llama_sampler_chain_add(self._chain, made)
        for part in _chain_of(c, temperature, top_p, seed):
            c.llama_sampler_chain_add(self._chain, part)

    def next(self, place: int = -1) -> int:
        """What follows the token at `place` of the last batch."""
        return self._c.llama_sampler_sample(self._chain, self._context, place)

    def close(self) -> None:
        if self._chain:
            self._c.llama_sampler_free(self._chain)
        self._chain = None

    def __enter__(self) -> Sampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _chain_of(c, temperature: float, top_p: float, seed: int) -> list:
    if temperature <= 0:
        return [c.llama_sampler_init_greedy()]
    return [
        c.llama_sampler_init_top_k(40),
        c.llama_sampler_init_top_p(top_p, 1),
        c.llama_sampler_init_temp(temperature),
        c.llama_sampler_init_dist(seed & 0xFFFFFFFF),
    ]


def grammar_of(schema: Mapping) -> str:
    """The GBNF grammar of a JSON schema. raises ConfigError for one that llama.cpp can't follow"""
    import json

    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        return json_schema_to_gbnf(json.dumps(schema))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"this JSON schema can't be turned into a grammar: {error}") from error
