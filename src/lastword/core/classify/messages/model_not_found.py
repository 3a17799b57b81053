"""Messages about a model that is absent, retired, or not available to this account."""

from __future__ import annotations

from lastword.core.classify.text import rows

MODEL_NOT_FOUND = rows("""
    no supported model
    model .. does not exist
    model .. doesn't exist
    model .. not found
    model .. was not found
    model .. is not supported
    model .. not supported
    model .. isn't supported
    model .. is not available
    model .. isn't available
    model .. not available
    model .. has been deprecated
    model .. has been decommissioned
    model .. has been retired
    model .. has been removed
    model .. been shut down
    model .. is deprecated
    model .. isn't enabled
    model .. is not enabled
    model .. no longer available
    model .. no longer supported
    model not exist
    models/ .. is not found
    no such model
    model is gated
    model .. could not be located
    model .. could not be found
    no such languagemodel
    no model named
    supported .. model names
    unknown model
    unsupported model
    model not supported
    unrecognized model
    invalid model
    not a valid model
    model identifier is invalid
    model .. is not a valid
    not allowed to access model
    not have access to model
    no permission to use this model
    no access to model
    no access to this model
    model requires a subscription
    on-demand throughput isn't supported
    deployment .. does not exist
    deployment .. not found
    no endpoints found
    no endpoints available
    no model available
    model .. is not accessible
    no model selected
    no chat model
    no allowed providers
    not available on your plan
    not available in your plan
    unavailable in your plan
    no such deployment
    not included in your plan
    plan does not include
    not yet include access
    not include access to
    not found the model
    model requires a paid
    requires a paid plan
    try pulling it first
    end of its life
    may not exist or you may not have access
    listmodels to see
    model_not_found
    doesn't support on-demand throughput
    use case details
    no provider serves
    support the model that you provided
""")
