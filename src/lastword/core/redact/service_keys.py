"""Shapes of the keys of known services, written by `benchmarks/service_keys.py`.

Rerun it with a newer list of rules; do not edit. A line is what must occur in a text,
in small letters, separated by commas, a blank, and the pattern of the secret.
"""
# ruff: noqa: E501 - a pattern stays on its line
# The patterns are from gitleaks (https://github.com/gitleaks/gitleaks), commit b58d3f102cf3 of 2026-07-22, rules of 2025-11-20,
# config/gitleaks.toml, SHA-256 e163e53b9e7e8a8511e77271e2b323ed…,
# translated to Python's syntax. Their licence:
#
# Copyright (c) 2019 Zachary Rice
#
# Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
# associated documentation files (the "Software"), to deal in the Software without restriction,
# including without limitation the rights to use, copy, modify, merge, publish, distribute,
# sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
# furnished to do so, subject to the following conditions:
#
# The above copyright notice and this permission notice shall be included in all copies or
# substantial portions of the Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
# NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
# NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
# DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
# OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
#
# Rules, or parts of them, that are not used:
#   a command: a rule of our own: curl-auth-header, curl-auth-user
#   a name that suggests a secret: a rule of our own: generic-api-key
#   a rule of our own: jwt, private-key, slack-webhook-url
#   a rule of our own matches all of it: age-secret-key, anthropic-admin-api-key, anthropic-api-key, aws-amazon-bedrock-api-key-short-lived, …
#   begins with an ordinary word: gocardless-api-token
#   for one kind of file: freemius-secret-key, hashicorp-tf-password, kubernetes-secret-yaml, nuget-config-password, …
#   has no fixed characters: facebook-access-token
#   hex, digits or a UUID, as hashes and ids are: adobe-client-id, asana-client-id, cisco-meraki-api-key, cloudflare-global-api-key, …
#   matches honest texts as well: sourcegraph-access-token, square-access-token
#   no word of it is long enough: jwt-base64

from __future__ import annotations

KEYS = r"""
.acc (?:sc|ext|scauth|authress)_(?i:[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{20,})
.atlasv1. (?i:[a-z0-9]{14}\.atlasv1\.[a-z0-9\-_=]{20,})
4b1d 4b1d[A-Za-z0-9]{20,}
_gitlab_session= _gitlab_session=[0-9a-z]{20,}
_mmk [A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk
a3- A3-[A-Z0-9]{6}-(?:(?:[A-Z0-9]{11})|(?:[A-Z0-9]{6}-[A-Z0-9]{5}))-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}
a3t,abia,acca,akia,asia (?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}
absk ABSK[A-Za-z0-9+/]{20,}={0,2}
access- (?i:access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12,})
akcp AKCp[A-Za-z0-9]{20,}
api- API-[A-Z0-9]{20,}
api_org_ api_org_(?i:[a-z]{20,})
aqvn (?i:AQVN[A-Za-z0-9_\-]{20,})
atatt3 ATATT3[A-Za-z0-9_\-=]{20,}
clojars_ (?i:CLOJARS_[a-z0-9]{20,})
cmvmd cmVmd[A-Za-z0-9]{20,}
dnkey- (?i:dnkey-[a-z0-9=_\-]{26}-[a-z0-9=_\-]{20,})
doo_v1_ doo_v1_[a-f0-9]{20,}
dop_v1_ dop_v1_[a-f0-9]{20,}
dor_v1_ (?i:(?:dor_v1_[a-f0-9]{20,}))
dp.pt. dp\.pt\.(?i:[a-z0-9]{20,})
dt0c01. dt0c01\.(?i:[a-z0-9]{24}\.[a-z0-9]{20,})
duffel_ duffel_(?:test|live)_(?i:[a-z0-9_\-=]{20,})
eaa EAA[MC](?i:[a-z0-9]{100,})
eyjrijoi (?i:(?:eyJrIjoi[A-Za-z0-9]{20,}={0,3}))
ezak EZAK(?i:[a-z0-9]{20,})
eztk EZTK(?i:[a-z0-9]{20,})
fio-u- fio-u-(?i:[a-z0-9\-_=]{20,})
flwpubk_test- FLWPUBK_TEST-(?i:[a-h0-9]{32}-X)
flwseck_test- FLWSECK_TEST-(?i:[a-h0-9]{12,})
flwseck_test- FLWSECK_TEST-(?i:[a-h0-9]{32}-X)
fm1,fm2_,fo1_ fo1_[\w-]{20,}|fm1[ar]_[a-zA-Z0-9+\/]{100,}={0,3}|fm2_[a-zA-Z0-9+\/]{20,}={0,3}
glc_ (?i:(?:glc_[A-Za-z0-9+/]{20,}={0,3}))
glsa_ (?i:(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}))
gr1348941 GR1348941[\w-]{20,}
hrku-aa HRKU-AA[0-9a-zA-Z_-]{20,}
hvb. hvb\.[\w-]{20,}
hvs. hvs\.[\w-]{20,}
ico- ico-[a-zA-Z0-9]{20,}
ltai LTAI(?i:[a-z0-9]{20,})
nrak- (?i:NRAK-[a-z0-9]{20,})
nrii- (?i:NRII-[a-z0-9-]{20,})
nrjs- (?i:NRJS-[a-f0-9]{19,})
ops_eyj ops_eyJ[a-zA-Z0-9+/]{20,}={0,3}
p8e- p8e-(?i:[a-z0-9]{20,})
pat pat[A-Za-z0-9]{14}\.[a-f0-9]{64}
pat,sat (?:pat|sat)\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{20}
pmak- PMAK-(?i:[a-f0-9]{24}\-[a-f0-9]{20,})
pnu_ pnu_[a-zA-Z0-9]{20,}
pplx- pplx-[a-zA-Z0-9]{20,}
pscale_oauth_ pscale_oauth_[\w=\.-]{20,}
pscale_pw_ (?i:(?:pscale_pw_(?i:[\w=\.-]{20,})))
pscale_tkn_ pscale_tkn_(?i:[\w=\.-]{20,})
pubkey- (?i:pubkey-[a-f0-9]{20,})
pul- pul-[a-f0-9]{20,}
q~ [a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}
rdme_ rdme_[a-z0-9]{20,}
rk_live,rk_prod,rk_test,sk_live,sk_prod,sk_test (?:sk|rk)_(?:test|live|prod)_[a-zA-Z0-9]{10,99}
rubygems_ rubygems_[a-f0-9]{20,}
s-s4t2 s-s4t2(?:ud|af)-(?i:[abcdef0123456789]{20,})
sg. SG\.(?i:[a-z0-9=_\-\.]{66})
sha256~ sha256~[\w-]{20,}
shippo_ shippo_(?:live|test)_[a-fA-F0-9]{20,}
shpca_ shpca_[a-fA-F0-9]{20,}
shppa_ shppa_[a-fA-F0-9]{20,}
shpss_ shpss_[a-fA-F0-9]{20,}
sk SK[0-9a-fA-F]{32}
sm_aat_ sm_aat_[a-zA-Z0-9]{16,}
sm_pat_ sm_pat_[a-zA-Z0-9]{16,}
sm_sat_ sm_sat_[a-zA-Z0-9]{16,}
sntrys_eyjpyxqio sntrys_eyJpYXQiO[a-zA-Z0-9+/]{10,200}(?:LCJyZWdpb25fdXJs|InJlZ2lvbl91cmwi|cmVnaW9uX3VybCI6)[a-zA-Z0-9+/]{10,200}={0,2}_[a-zA-Z0-9+/]{20,}
sntryu_ sntryu_[a-f0-9]{20,}
tfp_ (?i:tfp_[a-z0-9\-_\.=]{20,})
tk-us- tk-us-[\w-]{20,}
v1.0- v1\.0-[a-f0-9]{24}-[a-f0-9]{20,}
xkeysib- xkeysib-[a-f0-9]{64}\-(?i:[a-z0-9]{16,})
"""
"""Keys that give themselves away by their form."""

ASSIGNED_VALUES = r"""
adafruit [a-z0-9_-]{32}
airtable [a-z0-9]{17}
algolia [a-z0-9]{32}
alibaba [a-z0-9]{30}
artifactory,bintray,jfrog,xray [a-z0-9]{73}|[a-z0-9]{64}
asana [a-z0-9]{32}
atlassian,confluence,jira [a-z0-9]{20}[a-f0-9]{4}
beamer b_[a-z0-9=_\-]{44}
bitbucket [a-z0-9]{32}|[a-z0-9=_\-]{64}
bittrex [a-z0-9]{32}
cloudflare [a-z0-9_-]{40}
co_api_key,cohere [a-zA-Z0-9]{40}
codecov [a-z0-9]{32}
coinbase [a-z0-9_-]{64}
confluent [a-z0-9]{16}|[a-z0-9]{64}
contentful [a-z0-9=_\-]{43}
datadog [a-z0-9]{40}
discord [a-z0-9=_\-]{32}
droneci [a-z0-9]{32}
dropbox [a-z0-9]{15}|[a-z0-9]{11}(?:AAAAAAAAAA)[a-z0-9\-_=]{43}|sl\.[a-z0-9\-=_]{135}
etsy [a-z0-9]{24}
fastly [a-z0-9=_\-]{32}
finicity [a-z0-9]{20}
finnhub [a-z0-9]{20}
flickr [a-z0-9]{32}
freshbooks [a-z0-9]{64}
gitter [a-z0-9_-]{40}
intercom [a-z0-9=_\-]{60}
kraken [a-z0-9\/=_\+\-]{80,90}
launchdarkly [a-z0-9=_\-]{40}
linked-in,linked_in,linkedin [a-z0-9]{14}|[a-z0-9]{16}
lob (?:live|test)_[a-f0-9]{35}|(?:test|live)_pub_[a-f0-9]{31}
looker [a-z0-9]{20}|[a-z0-9]{24}
mailchimp,mailchimpsdk.initialize [a-f0-9]{32}-us\d\d
mailgun [a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}
mapbox pk\.[a-z0-9]{60}\.[a-z0-9]{22}
mattermost [a-z0-9]{26}
message-bird,message_bird,messagebird [a-z0-9]{25}
netlify [a-z0-9=_\-]{40,46}
new-relic,new_relic,newrelic [a-z0-9]{64}
new-york-times,newyorktimes,nytimes [a-z0-9=_\-]{32}
okta 00[\w=\-]{40}
plaid [a-z0-9]{24}|[a-z0-9]{30}
private-ai,private_ai,privateai [a-z0-9]{32}
rapidapi [a-z0-9_-]{50}
sonar (?:squ_|sqp_|sqa_)?[a-z0-9=_\-]{40}
sumo su[a-zA-Z0-9]{12}|[a-z0-9]{64}
travis [a-z0-9]{22}
twitch [a-z0-9]{30}
twitter [a-z0-9]{45}|[0-9]{15,25}-[a-zA-Z0-9]{20,40}|[a-z0-9]{25}|[a-z0-9]{50}|A{22}[a-zA-Z0-9%]{80,100}
yandex t1\.[A-Z0-9a-z_-]+[=]{0,2}\.[A-Z0-9a-z_-]{86}[=]{0,2}|YC[a-zA-Z0-9_\-]{38}
zendesk [a-z0-9]{40}
"""
"""Values that are secrets where the service's name stands before them."""
