"""Messages of providers and gateways when the service, not the request, is at fault."""

from __future__ import annotations

from lastword.core.classify.text import rows

PROVIDER_UNAVAILABLE = rows("""
    overloaded
    out of capacity
    at capacity
    over capacity
    maximum capacity
    full capacity
    capacity exceeded
    capacity .. exceeded
    model has crashed
    model crashed
    model busy
    is busy
    too busy
    queue size
    queue is full
    insufficient capacity
    no capacity
    capacity constraints
    capacity limits
    not enough capacity
    no provider available
    no available provider
    no available model provider
    no providers available
    no deployments available
    no available channel
    no healthy upstream
    no healthy deployment
    no instances available
    no available workers
    not ready to serve
    not ready yet
    loading model
    model is unloaded
    model unloaded
    model is loading
    model is currently loading
    model is warming
    currently loading
    currently not available
    currently unavailable
    temporarily not available
    temporarily unavailable
    not available right now
    not available at the moment
    unavailable at the moment
    service unavailable
    service is unavailable
    service is not available
    experiencing high demand
    experiencing high traffic
    experiencing high load
    high load
    heavy load
    high volume of requests
    high volume of traffic
    experiencing a high volume
    server busy
    server is busy
    servers are busy
    system is busy
    server is currently busy
    under maintenance
    temporarily down
    currently down
    is down for
    scheduled maintenance
    trouble connecting to the model provider
    llama runner
    encountered while running the model
    failed to load model
    failed to load the model
    unable to complete inference
    degraded function
    paused right now
    model runner has unexpectedly
    model failed to load
    unable to load model
    requires more system memory
    cuda out of memory
    cuda error
    cudamalloc failed
    unable to allocate
    runs out of memory
    metal::malloc
    memory .. would exceed
    failed to allocate
    error loading model
    runner has terminated
    runner process has
    enginecore
    prediction-error
    engine has died
    engine loop has died
    background loop has errored
    engine is dead
    engine loop is not running
    upstream connect error
    failed to connect to all addresses
    encountered an internal error
    internal error encountered
    internal error has occurred. please retry
    had an error while processing your request
    error occurred while processing your request
    unable to process your request
    unable to take your request
    unable to serve your request
    too many users
    bad gateway
""")

RATE_LIMIT = rows("""
    rate limit
    rate-limit
    rate_limit
    ratelimit
    rate exceeded
    too many requests
    too many tokens
    too many concurrent
    too many calls
    throttl
    traffic is currently high
    currently high traffic
    requests per minute
    tokens per minute
    token per minute
    request per minute
    per-minute
    per_minute
    requests per second
    tokens per min
    requests per min
    (tpm)
    (rpm)
    max rpm
    max tpm
    limit_rpm
    limit_tpm
    rpm limit
    tpm limit
    qps limit
    cooling down
    cooldown
    rate increased too quickly
    resource has been exhausted
    resource exhausted
    resource_exhausted
    exhausted your capacity
    parallel request
    concurrent request
    concurrency limit
    max concurrency
    maximum concurrency
    in-flight spending budget
    requests too quickly
    requests too fast
    temporarily limiting requests
    ramp limit
    request limit reached
    limiting requests
    crossed tpm
    crossed rpm
    error code: 1015
    usage pattern does not comply
    request frequency
    qpsoverflow
    qps overflow
""")

TIMEOUT = rows("""
    gateway timeout
    gateway time-out
    deadline expired
    deadline exceeded
    took too long to process
    took too long to respond
    model timeout
    invocation timed out
    request timed out
    timed out while waiting
    timed out waiting
    request timeout
""")

NETWORK = rows("""
    without sending complete message body
    incomplete chunked read
""")
"""Said under a status of a gateway, and still a cut stream."""

TOOL_SERVERS = rows("""
    mcp server
    mcp error
    mcp client
    mcp tool
    mcp connection
    context server
    connection state: error
""")
"""Another server than the model provider's: one that an agent uses for its tools."""

PROVIDERS_PROCESS = rows("""
    llama runner
    model runner
    runner process
    ollama
    enginecore
    vllm
""")
"""Processes of the provider's that crash beside the agent's."""

FAILED = rows("""
    fail
    error
    timed out
    timeout
    closed
    enoent
    disconnect
    crash
    refused
    unable
    could not
    exited
""")
"""Signs that the server that is named did not do its part."""

PROTOCOL_VERSION = rows("""
    unsupported protocol version
    unsupported protocolversion
    protocol version is not supported
    protocol version not supported
    does not support protocol version
    protocol version mismatch
    protocol versions do not match
    incompatible protocol version
    requires protocol version
""")
"""Sentences about ACP's or MCP's version, when a client requests another one at the start."""

OTHER_PROTOCOLS = rows("""
    tls
    ssl
    http
""")
"""Protocols that a sentence about a version may mean instead."""
