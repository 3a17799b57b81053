"""Messages of providers and runtimes about input that does not fit."""

from __future__ import annotations

from lastword.core.classify.text import rows

CONTEXT_OVERFLOW = rows("""
    prompt is too long
    prompt too long
    prompt was too long
    input is too long
    input too long
    context too long
    context is too long
    conversation is too long
    conversation too long
    request too large
    request is too large
    request body too large
    request body is too large
    request entity too large
    payload too large
    content too large
    too large for model
    too large to compact
    too many tokens:
    too many tokens in
    too many tokens to
    maximum context length
    maximum prompt length
    maximum context size
    maximum sequence length
    maximum model length
    maximum input length
    max context length
    max input characters
    max input tokens
    max_seq_len
    max_model_len
    context length exceed
    context length is exceed
    context length was exceed
    context window exceed
    context size exceed
    context limit exceed
    context limit reached
    context size has been exceeded
    context window is full
    context overflow
    context the overflows
    context_length_exceeded
    exceed .. context limit
    exceed .. context window
    exceed .. context length
    exceed .. context size
    exceed .. maximum number of tokens
    exceed .. maximum allowed input
    exceed .. input token limit
    exceed .. model token limit
    exceed .. maximum input
    exceeds the available context
    configured context size
    greater than the context length
    larger than .. context
    longer than .. context
    longer than the maximum
    ran out of room in the model's context
    prompt token count of .. exceed
    prompt exceeds max
    input token count .. exceed
    input tokens exceed
    input length .. exceed
    input exceeds the maximum
    input exceeds maximum
    current length is .. while limit is
    reduce the length of
    reduce your message size
    reduce the size of your
    reduce your prompt
    shorten your prompt
    input or output tokens must be reduced
    range of input length should be
    must have less than .. tokens
    tokens + `max_new_tokens` must be
    number of tokens in the prompt
    max_tokens must be at least 1, got -
    free space in the kv cache
    find a kv slot
    string too long. expected
    request exceeds the maximum size
    request size exceed
    input token count is
    image exceeds .. maximum
    max allowed size
    pdf pages may be provided
    compaction failed
    too long for the model
    tokens .. more than the
""")
