"""Sentences that count only if nothing else is left: no word, no status, no transport class.

These phrases are common, so each is read in the most cautious way: failures that a retry cannot
help come first. The form is that of the other tables.
"""

from __future__ import annotations

from lastword.core.classify.text import rows
from lastword.core.failure.taxonomy import ErrorType

WEAK = {
    ErrorType.CANCELLED: rows("""
        turn aborted
        request was aborted
        operation was aborted
        operation was canceled
        operation was cancelled
        aborted by user
        aborted by the user
        user aborted
        cancelled by user
        canceled by user
        cancelled by the user
        request cancelled
        request canceled
        request was cancelled
        request was canceled
        was cancelled by
        was canceled by
        interrupted by user
        turn interrupted
        context canceled
    """),
    ErrorType.AGENT_CRASH: rows("""
        process exited
        exited abnormally
        processtransport
        exited unexpectedly
        terminated by signal
        exited with status
        exited with code
        exited with signal
        killed by signal
        process terminated
        process crashed
        terminated unexpectedly
        shut down unexpectedly
        process has died
        failure code:
        exit code
        heap out of memory
        panicked at
        segmentation fault
        failed to spawn
        failed to start agent
        spawn enoent
        spawn .. enoent
        bin/sh:
        bin/bash:
        command not found
        executable file not found
        bin/env:
        glibc_
        glibcxx_
        error while loading shared libraries
        cannot open shared object file
        library not loaded
        err_unknown_builtin_module
        does not provide an export named
        unsupported engine
        loader.modulestrategy
        modulejob
        internal/modules/esm/translators
        requires node
        cannot find module
        err_module_not_found
        cannot find the file specified
        cannot find the path specified
    """),
    ErrorType.INTERNAL: rows("""
        cannot read propert
        is not a function
        is not an object
        is not defined
        is not iterable
        object has no attribute
        object is not subscriptable
        maximum recursion depth
        recursion limit of
        maximum call stack size
        nonetype
        unexpected keyword argument
        list index out of range
        codec can't encode
        without having called `read()`
        uncaught typeerror
        uncaught referenceerror
        must be of type
        undefined method
        undefined function
        undefined variable
        is not known to be defined
        wrong type argument
        wrong number of arguments
        void-function
        void-variable
        attempt to index
        attempt to call
        symbol's value as variable
        undefined array key
        undefined local variable
        nil pointer dereference
        null pointer
        null reference
        object reference not set
        index out of range
        index out of bounds
    """),
    ErrorType.PROTOCOL_ERROR: rows("""
        parse error
        unexpected token
        expecting value:
        extra data: line
        unterminated string
        codec can't decode
        invalid json
        malformed json
        expected value but found
        call could not be parsed
        did not contain a
        malformed response
        failed to parse
        failed to deserialize
    """),
    ErrorType.CONTEXT_OVERFLOW: rows("""
        too many tokens
        context window
        context length
        token limit
        context limit
        max tokens of .. exceed
        exceeds dimension
        exceeds the model limit
    """),
    ErrorType.BUDGET: rows("""
        usage limit
        limit reached
        limit will reset
        reached the limit
        reached your limit
        hit the limit
    """),
    ErrorType.AUTH: rows("""
        authenticat
        forbidden
        log in
        sign in
        signed in
    """),
    ErrorType.INVALID_REQUEST: rows("""
        invalid request
        request as invalid
        session not found
        no session found
        no such session
        unknown session
        already in progress
        is already running
        invalid session id
        session .. does not exist
        prompt template
        chat template
        bad request
        improperly formed
        incorrectly formed
        badly formed
        ill-formed
        invalid param
        invalid argument
        invalid value
        invalid input
        invalid schema
        must be a response to a prece
        tool_result
        tool_use
        tool_call
        roles must alternate
        unsupported parameter
        unsupported value
        unknown parameter
        extra inputs are not permitted
        not permitted
        should be non-empty
        must be non-empty
        field required
        validation error
        input should be
        should match
        provider not provided
    """),
    ErrorType.NETWORK: rows("""
        network problem
    """),
    ErrorType.TIMEOUT: rows("""
        took too long
        no tokens received
        no data received
        no response received for
        no response after
        not respond in time
        stalled
        idle for
    """),
    ErrorType.PROVIDER_UNAVAILABLE: rows("""
        internal server error
        server error
        service error
        server had an error
        server side error
        server-side error
        upstream error
        upstream request failed
        provider returned error
        provider returned an error
        error processing your request
        before returning
        models failed
        no output generated
        transient
        technical difficulties
        wrong on our end
        experiencing issues
        temporary error
        temporary failure
        temporary problem
        temporary issue
        failed to get response
        failed to get a response
    """),
    ErrorType.RATE_LIMIT: rows("""
        slow down
        slow_down
        wait and try
        please wait
        requests quickly
    """),
}

MENTIONED = {
    ErrorType.BUDGET: rows("""
        billing
        quota
        credits
        subscription
    """),
    ErrorType.AUTH: rows("""
        api key
        api_key
        apikey
        credential
        permission
        login
    """),
    ErrorType.INVALID_REQUEST: rows("""
        does not support
        unsupported
        not supported
        malformed
        failed to find provider
        provider not supported
        is required
        parameter error
        parameter value error
        param error
        method not allowed
        unprocessable entity
        unsupported media type
        not acceptable
        precondition failed
    """),
    ErrorType.CONTEXT_OVERFLOW: rows("""
        too long
        too large
    """),
    ErrorType.TIMEOUT: rows("""
        time out
        timeout
        time-out
    """),
    ErrorType.PROVIDER_UNAVAILABLE: rows("""
        unavailable
        trouble responding
    """),
}
"""Things that are only named: two words that belong together say more (`concepts`)."""
