"""Weights of words, written by `benchmarks/lexicon.py`: add samples and rerun it, do not edit.

A word's beginning, a colon and its weight for the type, in tenths; below zero it speaks against it.
"""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType

TENTHS = 10
BIASES = {
    ErrorType.AGENT_CRASH: -40,
    ErrorType.AUTH: -19,
    ErrorType.BUDGET: -21,
    ErrorType.CONTENT_FILTER: -35,
    ErrorType.CONTEXT_OVERFLOW: -28,
    ErrorType.INTERNAL: -42,
    ErrorType.INVALID_REQUEST: -25,
    ErrorType.MODEL_NOT_FOUND: -26,
    ErrorType.NETWORK: -21,
    ErrorType.PROTOCOL_ERROR: -39,
    ErrorType.PROVIDER_UNAVAILABLE: -21,
    ErrorType.RATE_LIMIT: -23,
    ErrorType.TIMEOUT: -28,
    ErrorType.UNKNOWN: -40,
}
WEIGHTS = {
    ErrorType.AGENT_CRASH: """
        400:-11 acp:18 agent:45 ai:-7 api:-18 app:10 before:13 bin:34 call:-8 cannot:23 claude:45
        codex:11 comman:45 config:-14 connec:-12 curl:19 curren:18 denied:26 direct:10 down:25
        droppe:9 engine:19 enoent:37 env:7 errno:33 exceed:-8 execut:12 exit:34 exited:75 failur:18
        file:37 find:29 first:28 format:15 found:39 gemini:18 genera:-8 handle:8 id:-7 index:8
        intern:20 invali:-8 java:33 js:16 lib:12 librar:41 limit:-8 llm:-8 loaded:29 loadin:11
        local:7 memory:33 model:-18 module:13 next:-10 no:15 node:38 npx:22 nvim:13 object:8
        occurr:-10 open:8 openco:46 opt:16 option:12 oserro:15 output:8 path:12 permis:26 proces:57
        provid:-10 ready:23 reques:-9 requir:25 return:18 runnin:24 send:9 server:22 sigkil:27
        signal:36 spawn:34 specif:11 start:23 stream:-9 such:10 transp:22 unexpe:25 unknow:7
        unsupp:18 url:9 user:-7 usr:22
    """,
    ErrorType.AUTH: """
        400:-9 401:96 402:-10 403:80 404:-18 405:9 407:25 422:-13 424:-10 429:-24 500:-16 502:-11
        503:-9 504:-10 524:-14 abc:-14 accept:-9 access:45 accoun:40 action:25 addres:17 after:-18
        again:11 agent:-7 agents:10 ai:14 ak:18 allowe:15 anthro:10 api:34 apical:9 applic:19
        arrear:-8 ask:7 assist:-20 attemp:-9 auth:49 authen:79 author:12 availa:-12 aws:12
        balanc:-31 base:-11 bearer:10 bedroc:8 being:14 billin:-32 block:9 blocke:48 body:-12
        budget:-14 busy:-8 call:-9 callin:12 cannot:-9 certif:16 charac:-10 check:11 choice:-19
        closed:-12 cloud:23 coding:12 cody:15 com:7 comple:-19 connec:-8 connex:-7 consol:11
        consum:-8 contai:-14 conten:-23 contex:-10 conver:-13 copilo:17 correc:11 countr:33
        creden:69 credit:-23 curl:-11 curren:19 custom:-13 da:-7 de:24 defaul:20 denied:18 der:-7
        die:15 disabl:25 domain:8 due:-8 eai:-9 el:-15 email:25 empty:-11 enable:17 ended:-7
        endpoi:31 engine:-11 enough:-8 env:16 enviro:15 eof:-7 errno:-28 exampl:7 exceed:-14
        execut:-9 exhaus:-25 exist:19 exit:-7 exited:-8 expire:37 fetch:-19 flagge:-16 flash:-7
        foo:-11 forbid:46 format:-14 free:25 functi:-12 gated:7 gatewa:27 gcloud:9 getadd:-10 go:12
        good:-8 gpt:-9 host:-12 http:-18 httpsc:7 hub:8 huggin:-8 iam:28 id:16 includ:17 incorr:25
        input:-17 inputs:-7 insuff:17 invali:29 invoke:18 ist:-13 java:-7 json:-19 just:15 key:48
        known:8 kv:-8 la:14 lacks:8 le:-11 limit:-26 list:15 litell:8 locati:27 logged:16 login:34
        machin:8 many:-14 max:-8 maximu:-11 messag:-15 metada:7 method:-29 mini:-12 minute:-7
        missin:38 model:-42 modera:-12 moment:22 monthl:-9 msg:31 must:16 my:-7 needed:9 net:-7
        next:8 nicht:24 number:-7 nvidia:7 oauth:11 object:-13 obtain:9 oops:-7 open:10 openai:8
        openco:-12 operat:26 organi:50 oserro:7 output:-13 over:-8 overlo:-10 params:-13 parse:-14
        pass:19 passwo:21 paymen:-13 perfor:20 permis:43 port:-7 precon:30 preven:18 projec:14
        prompt:-17 protoc:-12 provid:23 query:7 quota:-27 range:-10 rate:-14 reache:-31 read:-14
        reauth:9 receiv:-9 refres:32 region:15 reply:-7 reques:-8 requir:10 reset:-8 resour:-9
        respon:-26 restri:9 retrie:13 retryi:-8 return:-12 role:10 run:11 runnin:-11 satisf:10
        schema:-11 sdk:12 se:-7 search:8 second:-8 secret:17 securi:26 select:-7 sendin:-10
        sensit:-7 sent:9 serve:11 server:-8 servic:16 set:18 settin:24 sign:20 signed:20 sk:7
        someth:-9 specif:25 ssl:-7 standi:-8 start:-10 subscr:-12 such:-8 suppor:15 suspen:25
        switch:7 syntax:-8 system:-7 team:-13 termin:-10 text:-11 thrott:-7 timed:-15 timeou:-12
        token:51 tokens:-16 too:-18 tool:-15 tools:-7 top:-8 traffi:18 tried:-9 try:-10 tunnel:9
        unauth:76 unexpe:-16 unknow:-23 unsupp:10 update:10 upgrad:-11 upstre:10 usage:-25 use:33
        used:19 user:46 users:-7 valid:25 value:-17 var:8 variab:15 verbin:-7 verifi:30 verify:10
        versio:-13 vertex:16 virtua:20 wait:-9 websit:15 within:12 wrong:-8 く:13 さ:10 だ:13 ま:-8
        ス:-7 ト:-8 ロ:9 上:-10 不:9 务:10 可:-8 后:-7 在:10 失:24 已:12 当:-8 您:13 接:-10 效:15
        数:-7 无:17 时:-9 服:10 期:13 权:21 求:-9 的:11 稍:-8 证:19 试:-7 败:12 超:-10 过:8 重:7
        错:-7 额:-10
    """,
    ErrorType.BUDGET: """
        400:12 402:50 403:27 404:-9 413:-7 429:63 498:-7 500:8 503:-16 524:-7 access:16 accoun:39
        add:22 additi:8 afford:8 after:-8 ak:8 alloca:13 allowa:22 allowe:-12 am:10 answer:-7
        apista:-15 argume:-8 arrear:18 authen:-10 automa:13 availa:12 balanc:89 base:-8 before:7
        billin:68 blocke:-12 body:-27 budget:39 call:14 callin:9 cannot:-9 capaci:12 charac:-8
        chat:12 check:-15 claude:-8 cloud:-9 codewh:7 comple:-11 concur:-21 config:-9 connec:-17
        consid:-9 consum:17 contac:7 conten:-15 contex:-13 contin:15 conver:-10 cost:29 creden:-7
        credit:88 curl:-7 curren:13 daily:51 data:-8 day:66 de:-13 deadli:-8 denied:15 der:-9
        detail:-13 die:-12 discon:-10 down:-9 el:-7 email:-7 enable:19 ended:10 engine:-14
        enough:41 errno:-10 errors:10 es:-9 exceed:19 exhaus:27 exist:-7 expect:-11 failed:-21
        fetch:-9 fewer:8 find:-10 flagge:-8 flash:11 forbid:-9 found:-19 free:33 functi:-9 funds:12
        gatewa:-13 gemini:9 genera:-9 git:7 go:17 good:18 google:7 got:-7 high:-10 higher:10 hit:10
        host:-9 hour:13 how:-18 id:14 includ:9 increa:-19 inform:-7 input:-17 insuff:70 invali:-17
        invoke:8 ist:28 java:-7 keep:15 last:-11 le:-7 left:17 length:-8 limit:35 limits:7 list:-7
        litell:7 load:-10 login:-9 longer:-7 make:14 manage:-8 many:12 max:18 memory:-11 messag:17
        method:19 min:-11 minima:10 minute:-28 missin:-12 mode:15 model:-11 month:40 monthl:51
        more:22 msg:-9 must:-16 need:9 networ:-7 neuron:7 next:7 no:-17 node:-8 now:7 object:-10
        open:11 openro:-13 organi:-14 output:-8 overlo:-9 packag:14 paid:21 parame:-8 parse:-10
        paymen:22 plan:27 pm:25 policy:-10 pre:14 premiu:23 pro:10 proces:-8 proj:7 projec:20
        prompt:-13 protoc:-8 provid:-16 provis:-10 purcha:20 quota:93 rate:9 reache:50 read:-9
        reason:-13 rechar:10 recurs:-17 redact:10 reduce:-9 regain:12 regist:8 reject:-7 renew:10
        replen:8 requir:32 reset:22 resets:33 resour:-11 respon:-29 retrie:-9 retry:-49 return:-13
        rpm:-8 run:21 runtim:-13 safety:-8 second:-9 send:9 sendin:-8 sent:-9 server:-21 settin:-8
        size:-11 slow:-8 someth:-8 spend:23 src:7 standi:18 start:-15 stop:-8 stream:-11 studio:7
        submit:-8 subscr:47 suppor:-18 sure:18 switch:15 system:-8 team:12 tempor:-13 termin:-14
        test:-11 thinki:11 thrott:-10 tier:7 timed:-10 timeou:-13 today:32 tomorr:16 tool:-11
        top:21 tpd:18 tpm:-18 traffi:-7 transp:-7 trial:17 try:-9 trying:8 unable:-11 undefi:-8
        unexpe:-16 unsupp:-10 upgrad:33 upstre:-13 url:-10 usage:75 used:29 users:-8 using:16
        valid:-9 value:-15 verify:-8 versio:-11 vertex:-7 virtua:-9 visit:9 wait:20 weekly:14
        within:-8 withou:-14 worksp:-7 wrong:-9 yet:8 い:9 し:8 て:9 ス:-7 ッ:8 ト:-9 上:13 不:11
        余:24 值:21 充:21 入:-7 再:-7 到:7 前:-7 务:-8 发:-8 在:-9 大:7 已:16 应:-8 度:14 户:19
        接:-7 日:25 时:-7 服:-10 次:11 求:-13 流:7 用:40 系:-8 该:-7 误:14 账:7 费:16 足:29 量:13
        错:13 限:7 额:40 高:10
    """,
    ErrorType.CONTENT_FILTER: """
        400:23 403:19 429:-9 accept:12 access:-11 api:-9 appear:18 assist:10 azure:7 bad:-9 base:8
        becaus:22 bio:16 blocke:54 body:-9 but:13 candid:9 cannot:-8 chat:17 claude:7 config:14
        connec:-11 consid:9 contai:35 conten:62 conver:8 data:12 define:16 denied:7 detect:18
        differ:8 due:16 edit:7 exceed:-13 exists:10 fetch:-8 filter:51 find:14 finish:11 flagge:59
        found:-9 functi:-8 genera:-18 grok:10 guidel:14 high:9 http:-7 incomp:9 inform:18 input:34
        intern:-12 limit:-12 machin:8 manage:8 max:-7 messag:12 mistra:23 modera:26 modify:7
        more:10 must:-18 new:28 no:-22 object:8 occurr:-10 openai:7 organi:-7 output:21 permis:8
        policy:59 possib:10 potent:15 proces:-10 prompt:31 read:-7 reason:10 receiv:-8 reject:31
        reply:14 resp:9 respon:37 result:30 risk:32 safety:62 see:11 sensit:69 server:-17 sorry:16
        stream:-7 suppor:-9 system:18 team:9 tokens:-8 too:-10 tool:-7 trigge:12 try:22 unable:7
        unexpe:-12 unsupp:-18 url:-9 usage:30 use:9 user:-7 value:-7 violat:49 wrong:-8 し:9 た:11
        は:7 ま:7 れ:7 エ:15 ク:15 コ:17 ス:14 ッ:17 ト:13 リ:14 ロ:17 ン:15 ー:13 不:15 免:9 入:19
        内:21 到:8 包:21 发:12 可:19 当:11 您:7 或:8 数:10 检:7 系:8 能:21
    """,
    ErrorType.CONTEXT_OVERFLOW: """
        400:40 401:-7 402:-7 403:-8 413:56 429:-19 503:-8 accept:18 access:-12 accoun:-14 after:-8
        again:-11 agent:-8 ai:-16 algo:19 api:-29 argume:-14 assist:13 bad:13 blocke:-9 body:19
        budget:-13 cache:23 call:-9 capaci:-8 check:-12 claude:-20 client:-15 comple:-7 connec:-8
        conten:-14 contex:81 contin:22 conver:23 cost:-9 count:16 credit:-7 curren:-15 daily:-10
        data:-7 day:-8 de:-9 deadli:-26 detail:-13 die:19 due:-9 empty:-9 end:-7 endpoi:-9 entity:9
        es:14 exceed:34 failed:-17 find:20 found:-21 free:13 functi:-7 gatewa:-7 genera:-19
        given:16 got:19 handle:-9 header:-7 howeve:16 id:-7 input:55 inputs:15 invoke:9 ist:14
        json:-9 key:-11 kv:26 la:20 lang:25 large:37 later:-8 least:18 length:48 limit:25 llm:-12
        long:49 longer:32 many:-15 max:16 maximu:9 messag:12 minute:-10 model:15 msg:9 must:21
        new:20 no:-16 object:11 occurr:-16 openai:8 operat:-12 org:10 output:-22 param:9 proces:-18
        prompt:37 provid:-13 quota:-14 range:15 rate:-18 read:-7 reason:-9 receiv:-7 recurs:-14
        reduce:15 requir:-17 resour:-12 respon:-15 retry:-11 runnin:-9 sendin:-11 sensit:-12
        server:-16 should:17 size:40 sorry:-7 start:22 state:9 stream:-23 suppor:-16 system:-7
        termin:-8 thread:17 thrott:-8 time:-7 timeou:-10 token:36 tokens:63 too:59 tools:-7 tpm:12
        try:8 unable:-9 unexpe:-11 unknow:-9 upstre:-7 url:-9 usage:-9 use:-10 used:-11 user:-8
        valida:11 value:-17 versio:-7 wait:-9 window:40 worksp:-9 い:-7 が:16 し:-7 す:17 ま:14
        上:10 不:-9 入:20 出:13 制:12 型:9 大:13 度:9 开:12 模:9 超:25 限:7
    """,
    ErrorType.INTERNAL: """
        400:-15 429:-7 access:12 agent:-7 ai:-10 args:10 argume:64 array:15 attemp:22 budget:10
        but:-7 callba:10 called:17 cannot:18 charac:43 choice:46 closed:23 config:39 connec:-8
        contai:7 conten:44 create:12 curl:7 data:17 define:13 direct:15 empty:25 errno:18 event:24
        exceed:15 expect:23 file:26 filter:12 format:10 functi:32 genera:23 given:15 got:30
        having:16 histor:29 id:-8 index:34 intern:42 invali:-8 json:-7 key:52 known:15 later:13
        limit:29 list:33 llm:36 loop:24 make:16 many:19 maximu:31 method:8 model:-11 must:35 my:22
        nil:24 no:22 number:9 object:50 occurr:7 ollama:16 one:11 option:11 packag:10 proces:8
        proper:25 provid:-12 range:33 rate:29 reache:9 read:31 readin:23 receiv:-7 recurs:56
        reques:-21 respon:12 runtim:23 server:-14 sessio:11 start:8 stop:17 stream:25 such:15
        text:-8 timeou:8 too:16 uncaug:15 undefi:25 unexpe:12 value:52 withou:32 wrong:25
    """,
    ErrorType.INVALID_REQUEST: """
        400:62 401:-15 402:-7 403:-24 404:-20 405:16 422:48 429:-23 500:17 502:-11 503:-10 524:-7
        about:-10 accept:8 access:-23 accoun:-21 action:-9 adjust:11 again:-8 ai:17 algo:-16
        allowe:27 alread:22 altern:14 argume:31 array:15 assist:13 authen:-17 auto:15 availa:-11
        aws:12 azure:-12 bad:34 balanc:-11 becaus:-14 before:-10 block:10 blocke:-19 blocks:17
        body:42 call:24 caller:8 callin:22 cannot:16 capaci:-7 capier:-12 case:9 cause:11 certif:-9
        charac:-12 check:-8 claude:9 closed:-8 cody:-7 column:14 comes:15 comman:-9 commun:17
        comple:-19 config:-12 connec:-26 consol:11 contac:-8 conten:15 core:8 count:-7 countr:-24
        creden:-11 curl:-12 curren:-19 custom:21 data:-21 de:-10 demand:-11 demo:18 denied:-10
        detail:9 discon:-8 docume:8 downlo:11 due:-20 during:-8 each:10 edit:7 elemen:16 empty:21
        enable:-12 end:-7 engine:-11 eof:-11 errno:-8 errors:10 es:-7 event:10 every:8 exceed:-23
        exist:-14 exit:-11 exited:-7 expect:7 expire:-9 extra:16 failur:-9 fetch:14 field:24
        filter:-11 finish:-14 flash:8 follow:26 forbid:7 formed:31 found:18 free:-9 functi:33
        gatewa:-15 given:-15 go:-9 google:8 having:11 header:12 high:-10 histor:-16 host:-7
        howeve:-7 http:11 huggin:7 identi:-7 image:24 images:24 immedi:10 improp:31 infere:10
        inform:-10 input:12 inputs:9 insuff:-14 intera:11 intern:7 invali:27 invoca:8 invoke:-9
        ist:-7 json:16 key:-23 kiro:17 known:-7 latest:9 least:-10 length:-14 level:7 limit:-17
        load:-11 loadin:-7 locati:-15 logged:14 long:-16 longer:-12 loop:-7 malfor:-12 many:-10
        match:11 max:10 maximu:8 memory:-7 messag:31 method:46 metric:14 mini:9 minima:-7 missin:26
        model:11 must:38 new:-9 no:-8 non:22 now:11 number:10 nvidia:-11 occurr:12 only:10
        openco:10 openro:8 operat:-10 option:14 organi:-8 origin:7 output:11 overlo:-12 param:29
        parame:57 params:34 parse:29 parsin:14 pass:16 passed:34 permis:-10 permit:14 plan:-7
        policy:-10 port:12 precon:-14 pro:-8 proces:-22 projec:-7 prompt:22 proper:28 provid:19
        quota:-11 raised:12 rate:-9 raw:7 reache:-14 reason:27 redact:18 reduce:9 refres:-19
        region:-9 reject:33 remote:-8 reques:13 requir:41 reset:-17 resour:19 respon:-28 retry:-11
        retrya:8 return:12 right:11 risk:-14 runnin:-7 runtim:-9 safety:-17 schema:24 search:10
        select:-7 sendin:-18 sensit:-18 server:11 servic:14 sessio:16 set:17 size:16 someth:-8
        sonnet:-9 source:-9 specif:12 start:-11 stoppe:8 string:34 submit:11 suppli:9 suppor:57
        syntax:18 temper:36 termin:-11 text:21 think:15 thinki:22 thrott:-7 throug:-10 tier:-8
        timed:-15 timeou:-10 tls:-7 token:-29 too:-20 tool:16 tools:36 toolu:10 top:10 transp:-8
        troubl:11 trying:24 turn:10 unable:-20 unauth:-8 unavai:20 uncaug:-10 undefi:-8 under:11
        unhand:12 unknow:-8 unsupp:35 update:12 url:31 usage:-10 used:-8 user:12 using:18 usuall:13
        utf:-8 valid:-23 valida:15 value:24 vercel:7 verifi:-13 violat:-7 were:11 withou:8
        wrong:-11 xx:16 不:-10 型:-9 模:-8 法:7 的:-8 误:7 请:-7 超:-16
    """,
    ErrorType.MODEL_NOT_FOUND: """
        400:36 401:-11 402:-11 404:115 429:-26 500:-12 502:-7 503:-9 abc:19 about:13 access:34
        accoun:15 additi:-10 after:-12 ai:-7 allowe:23 apical:-9 apierr:8 argume:-10 arn:16
        assist:-10 attemp:-9 auth:-9 author:9 availa:26 bad:-24 bar:8 base:12 bin:-12 blocke:-9
        body:-7 but:-8 call:-13 cannot:-23 capaci:-16 capier:20 case:10 certif:-7 chat:10 claude:10
        client:-14 com:-8 comman:-13 connec:-16 conten:-16 contex:-10 contin:-7 conver:13 cooldo:-7
        core:13 crashe:-9 creden:-11 credit:-7 curren:-8 data:-10 de:-11 defaul:-7 demand:31
        demo:-13 deploy:31 detail:12 dev:15 due:-8 during:-10 el:13 enable:19 encoun:-11 end:7
        endpoi:21 enough:-10 eof:-7 err:-8 errno:-9 event:-8 exceed:-29 exhaus:-12 exist:42
        existe:37 exit:-12 expect:-10 failur:-8 fetch:-11 field:8 file:-13 flash:8 follow:-10
        foo:35 forbid:10 format:-7 found:61 free:-15 functi:-22 gated:9 gatewa:14 gemini:-10
        genera:-9 go:-12 gpt:30 handle:-7 having:-7 http:-9 huggin:12 id:16 identi:16 image:-15
        images:-24 includ:-7 inform:-8 input:-30 insuff:-19 intera:-10 intern:-13 invali:14
        invoca:13 invoke:-10 json:-10 keep:-9 key:22 last:7 later:-9 le:7 licens:13 life:11
        limit:-29 litell:-9 load:-20 loadin:-27 longer:11 match:10 max:-10 maximu:-9 mean:11
        memory:-9 messag:-12 method:-21 minute:8 missin:-14 mistra:-9 model:83 models:28 must:-14
        need:13 no:11 non:8 nova:8 nvim:-7 object:-8 openai:9 openco:-9 org:8 output:-10 overlo:-9
        page:18 parame:-12 parse:-7 pas:9 pass:-15 passed:-15 path:-8 perfor:-7 pick:8 plan:20
        post:-11 pro:10 proces:-12 produc:-8 profil:17 prompt:-24 provid:19 query:-10 quota:-16
        rate:-12 read:-9 ready:-15 reason:-15 receiv:-12 redact:-16 reject:-10 reques:9 requir:-22
        reset:-9 respon:-31 result:-7 retry:10 return:-18 role:-9 runnin:-16 second:-14 select:21
        server:-26 servic:-23 set:-10 sonnet:7 sorry:8 specif:-29 start:-7 stoppe:-8 stream:-21
        studio:-9 submit:9 subscr:-12 such:12 suppor:28 system:-8 team:9 temper:-8 tempor:-7
        termin:-10 text:-8 thread:-8 throug:21 thus:11 time:-7 timed:-13 timeou:-7 token:-19
        tokens:-24 too:-20 tool:-8 top:-10 traffi:-7 tried:9 try:-7 trying:-16 turbo:9 undefi:-7
        under:8 unexpe:-14 unhand:-8 unknow:12 unsupp:-13 upstre:-15 url:-7 usage:-10 use:19
        user:-13 users:13 using:7 valida:31 value:-8 verify:11 vertex:-8 view:16 wait:7 window:-12
        within:7 withou:-13 worksp:9 不:11 在:17 型:19 存:20 开:10 或:10 模:20 用:-8 的:-7 码:7
        试:-7
    """,
    ErrorType.NETWORK: """
        400:-29 401:-15 403:-24 404:-16 407:-8 422:-8 429:-36 443:-13 500:-11 502:-22 503:-17
        524:-8 529:-11 aborte:31 access:14 accoun:-15 again:13 agent:-17 agents:9 ai:-9 allowe:-9
        allows:-10 amazon:12 anthro:11 api:13 apicon:37 argume:-10 assist:-10 authen:-13 axios:14
        bad:-23 becaus:-16 before:-24 billin:-7 blocke:-7 body:18 broken:19 buildi:10 but:-8
        bytes:21 call:-13 called:-12 callin:-7 cannot:12 caused:10 cert:15 certif:48 chain:12
        charac:-7 chat:-7 check:15 chunke:10 client:29 close:43 closed:36 column:8 com:18 commun:7
        comple:29 conexi:28 config:-15 connec:84 connex:35 contai:-17 conten:-30 contex:-8
        contin:-9 conver:-19 creden:-9 credit:-8 curl:38 curren:-10 custom:8 data:15 de:-9
        decodi:10 define:-7 denied:-15 deploy:-9 detail:-37 discon:47 dispat:15 down:-7 droppe:12
        during:11 eai:23 econnr:40 el:10 encodi:20 end:22 ended:17 engine:-8 enoent:-16 enough:10
        eof:52 err:30 errno:37 es:10 establ:19 etimed:-33 exceed:-25 execut:-9 exhaus:-8 exit:-17
        exited:-19 failed:27 failur:18 fetch:23 filter:-10 forbid:-17 found:-26 free:-10 functi:-13
        gatewa:-17 gemini:11 genera:-9 get:10 getadd:27 got:-8 handle:-8 hat:-8 host:52 http:26
        hyper:10 iam:-13 incomp:13 infere:-12 insuff:-8 intern:8 interr:15 invali:-14 io:16
        issuer:21 java:16 json:-11 key:-21 known:18 konnte:23 later:-7 latest:-13 le:-19 length:10
        limit:-22 list:-8 llama:-7 llm:11 load:18 local:12 lookup:14 loop:-10 lost:28 many:-8
        match:-9 maximu:-8 mcp:-25 memory:-9 messag:-8 method:7 model:-26 models:-10 moment:-13
        msg:-16 must:-12 net:22 networ:50 new:-10 no:7 non:-7 now:7 npx:-11 object:-9 occurr:-9
        off:16 open:-11 operat:-28 option:-16 os:8 overlo:-12 param:-11 parame:-8 parse:-26
        parsin:-10 pas:-16 pass:9 path:23 payloa:13 peer:18 permis:-12 persis:12 pkix:10 port:9
        post:42 predic:-12 premat:25 proble:19 proces:-27 projec:-9 proper:-26 protoc:29 provid:-24
        proxy:29 quota:-11 ran:11 rate:-12 reache:-8 read:42 readin:-13 reason:12 receiv:31
        recove:11 refuse:8 reject:-7 remote:26 reply:17 report:10 reques:-14 requir:-19 reqwes:7
        reset:12 resolu:15 resolv:15 resour:8 respon:17 result:8 retrie:-11 return:-19 right:8
        runtim:-12 safety:-7 satisf:10 se:29 securi:8 see:14 select:13 self:13 sendin:62 sent:23
        servic:15 signed:14 socket:34 solici:-8 someth:-9 sorry:-12 spawn:-17 specif:-11 ssl:49
        sslcer:7 start:-11 stream:38 string:-9 such:8 talkin:12 target:13 task:-7 tcp:11 termin:34
        test:21 text:-14 think:9 time:-20 timed:-36 timeou:-40 tls:38 token:-17 tokens:-30 too:-20
        total:14 transf:13 transi:7 troubl:9 try:-7 unable:15 unauth:-19 unavai:-23 unexpe:20
        url:21 use:-11 user:-11 utf:-7 util:7 valida:-13 value:-20 verbin:22 verify:16 versio:9
        vpn:7 werden:23 win:9 window:-8 write:39 wrong:-10 い:-13 が:-11 く:-7 た:9 だ:-7 て:-7
        で:18 に:13 の:21 は:13 れ:9 ス:9 ト:8 ホ:16 ー:8 上:-7 不:9 主:18 了:8 再:-8 可:-8 在:-10
        失:-9 常:14 度:-9 异:14 或:-8 拒:8 接:40 无:7 时:-11 机:20 求:-9 法:13 用:-12 的:16 続:18
        络:18 网:18 被:7 败:-8 超:-9 连:23 道:9 重:15 限:-8
    """,
    ErrorType.PROTOCOL_ERROR: """
        400:-9 404:-7 429:-8 500:-26 access:-8 again:-11 agent:-8 ai:35 argume:-11 assist:8
        attemp:-13 availa:-7 before:-8 but:18 call:39 callba:7 char:20 charac:19 chat:-9 chatgp:7
        client:15 column:10 connec:-10 contai:24 curl:-7 data:17 decode:12 detail:-13 empty:26
        end:23 ended:-7 exceed:14 expect:34 fetch:33 field:7 finish:16 foo:11 format:20 found:36
        functi:10 gemini:13 genera:18 got:-7 header:-7 http:14 id:-12 intern:-12 invali:48 io:7
        issue:9 json:62 jsonde:20 key:-11 langua:13 limit:26 line:52 llama:19 llm:10 longer:9
        malfor:32 many:-8 match:13 method:-7 model:-8 must:-12 object:-14 occurr:-12 openai:-9
        operat:-8 output:24 overlo:-8 param:-8 parse:67 parser:13 positi:27 prompt:-7 protoc:45
        provid:29 readin:8 reason:13 remote:13 requir:-7 respon:49 return:17 role:23 runtim:12
        schema:11 select:-7 servic:-10 start:7 stream:8 text:25 tls:-9 token:18 tokens:-7 too:-11
        tool:34 transp:12 try:-11 unexpe:13 unhand:23 unknow:-7 unsupp:25 upstre:-9 use:-7 utf:27
        valid:43 valida:14 value:50 versio:36 vertex:23 wrong:-9
    """,
    ErrorType.PROVIDER_UNAVAILABLE: """
        400:-20 401:-7 402:-8 403:-25 404:-10 424:21 429:17 443:7 498:17 500:78 502:81 503:95
        504:-25 520:40 529:38 access:-27 action:-12 add:-11 additi:19 addres:20 again:10 agent:-22
        ai:17 allowe:-16 alread:11 amazon:-7 apical:14 apista:10 app:-9 argume:-16 assist:-17
        auth:-11 authen:-12 availa:41 aws:-8 azure:10 backen:13 bad:28 balanc:-15 batch:22 bb:13
        bd:12 becaus:11 before:31 billin:-8 blocke:-17 body:-12 browse:-9 busy:38 but:-9 call:-23
        candid:14 cannot:-8 capaci:52 cc:13 center:14 certif:-15 channe:12 charac:-8 chat:-9
        claude:-16 close:-7 closed:-14 comman:-12 commun:-7 comple:-7 concur:-12 connex:-7
        consol:-14 contai:-19 conten:-19 contex:-31 contin:-13 conver:-8 count:14 crashe:20
        create:-12 creden:-16 credit:-9 curl:-19 curren:25 data:8 de:-17 decode:12 decrea:9 deep:11
        denied:-15 deploy:17 der:8 detail:22 die:-8 droppe:-16 due:20 el:21 empty:-19 enable:-19
        encoun:28 end:-10 ended:18 endpoi:-18 engine:38 enoent:-10 errno:-15 errors:14 es:-9
        establ:-7 every:14 exhaus:-24 exist:-12 existe:-12 exit:15 exited:-17 experi:21 failed:16
        failur:9 fallba:14 fast:-7 fetch:-28 field:-8 file:-15 filter:-13 find:-14 first:-7
        flash:-9 foo:-12 forbid:-10 formed:-7 found:-29 free:-15 functi:10 gatewa:14 gemini:-14
        genera:-9 get:10 gib:10 go:-7 google:-7 grok:-7 handle:22 header:43 health:13 help:12
        high:28 hit:-12 host:-11 id:11 improp:-7 incorr:-10 increa:-7 infere:27 inform:14 input:-7
        invoca:-11 issue:7 ist:7 itself:10 java:-18 json:-7 key:-18 known:-8 kv:-11 la:-7
        langua:-11 last:7 later:29 latest:12 le:31 length:-8 limite:-13 limits:-8 line:-8 list:-8
        litell:15 llama:24 load:7 loadin:53 login:-7 long:-14 longer:-14 loop:11 manage:10 max:-8
        mcp:-8 memory:32 messag:-25 mini:-13 missin:-8 mistra:-11 model:45 models:16 moment:24
        more:-11 must:-16 net:-10 networ:-18 nil:-8 no:16 now:14 npx:-7 nvidia:8 object:-10
        occurr:21 off:-10 online:16 oops:-9 open:-8 openai:-14 openro:-7 operat:-8 org:-8
        organi:-11 overlo:88 param:9 parame:-12 parse:-14 parsin:8 pass:-11 peer:7 permis:-20
        persis:9 plan:-26 policy:-13 port:-7 post:-17 predic:36 proces:50 produc:18 projec:-11
        protoc:-16 provid:25 query:-10 queue:14 quota:-28 rate:-16 reach:20 reache:-17 read:-18
        ready:11 reason:-15 refres:-9 refuse:10 reject:-15 repeat:15 report:8 req:17 requir:-15
        reset:32 resolv:-7 resour:12 restar:14 result:-10 retrie:21 retry:22 retryi:7 return:17
        right:15 role:-7 run:-10 runner:34 runnin:18 runtim:34 safety:-7 se:-7 second:13 seek:11
        select:13 send:-7 sendin:-19 serve:13 server:41 servic:27 sessio:-11 settin:-13 shortl:16
        side:11 sigkil:-8 signal:-10 signed:-9 slot:10 socket:-7 someth:-7 sonnet:8 spawn:-11
        ssl:-7 stoppe:-8 studio:20 such:-12 suppor:-31 system:9 task:-11 tempor:36 thrott:-11
        throug:10 tier:18 timed:-7 times:8 title:16 tls:-8 token:-21 too:-20 took:-8 tools:-8
        total:7 traffi:13 transi:14 transp:-13 try:11 trying:-17 unable:16 unauth:-12 unavai:47
        under:-9 unhand:-9 unknow:18 unsupp:-11 upstre:40 url:-7 usage:-14 used:-11 user:-13
        users:12 using:-17 utf:10 valida:-20 value:-11 verify:-10 versio:-10 vertex:-10 view:-8
        violat:-8 volume:7 web:13 window:-8 within:-9 withou:12 worksp:8 wrong:-9 い:13 が:12 す:13
        た:-10 て:13 ば:8 ら:8 を:-7 ト:-7 モ:10 ー:7 上:19 入:-8 再:18 前:15 务:12 发:-7 可:25
        后:10 在:7 型:14 度:-12 当:11 或:-8 数:-11 时:7 暂:19 服:13 查:-7 检:-7 模:15 渠:10 游:27
        用:12 的:-14 码:8 稍:20 系:11 繁:14 络:-8 网:-8 試:8 试:14 请:10 超:-13 足:-8 道:9 限:-15
        频:-12 额:-7
    """,
    ErrorType.RATE_LIMIT: """
        400:-34 401:-14 402:8 403:-17 404:-11 413:-15 429:85 500:-10 502:-7 524:-7 access:-19
        accoun:-13 active:7 after:31 again:7 agent:-8 ak:-10 allows:23 answer:10 api:14 apical:-8
        apierr:10 apista:14 app:22 argume:-7 attemp:14 availa:-19 bad:-17 balanc:-7 base:8
        becaus:-7 before:9 blocke:-10 body:14 but:-7 call:-11 callin:-25 calls:7 capaci:-9 check:26
        client:-7 closed:-7 cloud:7 coder:10 concur:45 connec:-21 consid:18 contac:8 conten:-9
        contex:-18 cooldo:12 create:9 credit:-15 daily:-22 data:-8 day:-49 de:29 denied:-8
        deploy:-14 der:-7 detail:10 down:23 el:-10 empty:-7 enable:-7 endpoi:-8 engine:-14 err:-7
        errno:-7 es:30 execut:-11 exhaus:60 exist:-8 expect:-19 expire:-9 failed:-12 fast:27
        fetch:-11 find:-7 flash:-8 forbid:-8 found:-29 get:-8 go:11 head:8 high:8 higher:11 hit:12
        host:-9 hour:-11 how:18 increa:41 infere:-8 input:-8 insuff:-20 intera:11 intern:-17
        invali:-30 invoke:-8 ist:-8 json:-9 key:-23 la:-17 large:-15 last:13 le:-9 level:17
        licens:8 limit:35 limita:8 limite:37 limiti:7 limits:24 list:-7 llm:-24 long:-12 low:9
        main:7 many:32 max:12 mcp:-16 messag:-8 metada:8 min:9 mini:13 minute:50 mistra:11 model:-9
        month:-11 monthl:-21 more:7 must:-7 networ:-8 new:-12 no:-22 now:-10 number:21 object:-7
        observ:7 occurr:-21 online:-7 open:10 openro:14 operat:-10 organi:7 output:-13 over:31
        overlo:-24 own:7 packag:-10 param:-10 parse:-10 passed:-8 permis:-9 pm:-11 policy:-7
        post:-7 proces:-20 proj:-8 projec:-10 prompt:-8 protoc:-7 provis:13 quickl:12 quota:36
        rate:73 raw:11 reache:37 read:-12 reason:-11 rechar:-8 recurs:-9 remain:7 reques:15
        requir:-17 resets:-8 resour:18 retry:41 return:16 right:-8 rpm:12 run:-13 runtim:-17 se:-7
        search:-13 second:18 select:-10 sendin:31 sent:12 sessio:-9 settin:9 size:-15 slow:22
        solici:32 spend:-20 spendi:14 start:-10 subscr:7 suppor:-7 tempor:-7 termin:-8 text:-9
        thinki:-8 thrott:64 timed:-13 timeou:-9 today:-9 tokens:11 tomorr:-9 too:36 tool:-19 top:7
        tpd:-16 tpm:12 transi:-7 try:-7 trying:12 unable:-17 unauth:-12 unavai:-9 undefi:-7
        unexpe:-18 unknow:-12 unsupp:-8 url:-17 usage:-15 user:-7 utc:9 valid:-7 valida:-8
        value:-21 violat:-8 wait:23 weekly:-11 window:-8 withou:-8 worksp:15 zed:7 お:14 す:-8
        に:-7 を:12 ト:10 ン:-7 不:-14 于:8 候:11 值:-7 充:-7 再:17 前:8 发:14 器:-9 型:-11 大:-10
        失:-10 并:17 度:14 接:-7 数:14 无:-7 日:-7 时:-9 机:-7 模:-10 求:35 的:7 稍:14 繁:12 被:11
        请:19 败:-8 超:10 过:15 重:-9 量:-7 限:38 频:31
    """,
    ErrorType.TIMEOUT: """
        400:-24 401:-8 403:-13 408:47 429:-14 443:30 500:-9 503:-7 504:67 524:55 access:-12
        accoun:-8 addres:-12 after:31 again:-12 ai:-13 api:7 apitim:8 attemp:8 attent:24 availa:-9
        bad:-14 becaus:12 blocke:-9 body:-12 cancel:8 cannot:-8 client:9 close:-12 closed:-14
        comple:23 conexi:-7 connec:31 connex:10 conten:-11 contex:19 couldn:-7 curren:-7 da:15
        de:35 deadli:56 der:36 detail:-7 dial:11 die:9 discon:-11 domain:8 due:15 econnr:-9 el:9
        err:10 es:-12 etimed:44 exceed:30 existe:-7 exit:7 exited:8 expect:-9 failed:-7 fetch:48
        found:-14 gatewa:19 genera:-11 git:8 hat:32 header:-12 host:22 http:10 httpco:11 hub:8
        id:-16 idle:11 input:-9 intern:-13 invali:-23 invoca:8 io:8 json:-7 key:-11 la:19 last:-12
        le:24 limit:-23 llm:-11 long:14 many:-8 max:-10 maximu:-9 mcp:-11 millis:7 model:-15
        must:-7 net:23 networ:16 new:8 next:12 nicht:11 object:-7 openai:-11 operat:26 overlo:10
        parse:-8 pas:14 permis:-9 pool:12 port:9 possib:13 primar:10 prompt:-7 proper:7 protoc:-7
        provid:-19 quota:-7 rate:-12 reache:-7 read:20 reason:12 receiv:20 remote:-8 requir:-9
        reset:-17 return:-7 se:9 second:26 sent:-19 server:15 servic:-13 socket:9 sorry:-8 sse:8
        stop:13 stream:18 suppor:-10 system:12 tcp:10 termin:34 time:60 timed:118 timeou:111
        token:-9 tokens:19 took:22 tool:-12 try:-10 unavai:-16 undefi:-7 unexpe:-23 unknow:-18
        valida:-8 verbin:14 waitin:20 win:12 within:8 お:8 ば:9 ら:9 エ:8 ク:8 ス:7 リ:8 ー:-7
        一:19 不:-10 于:13 内:10 务:11 后:13 响:16 器:8 应:24 断:7 时:44 有:13 查:8 检:8 由:14
        稍:-7 络:8 网:8 試:9 试:10 超:32 限:-9
    """,
    ErrorType.UNKNOWN: """
        400:-23 403:-7 500:-7 about:22 action:14 after:7 agent:51 ai:-17 answer:19 assist:25
        attemp:7 bad:16 before:-7 body:-7 browse:35 but:15 call:7 callin:7 check:-10 closed:21
        comple:17 connec:15 consol:15 contac:10 conten:14 contex:9 conver:20 couldn:27 curl:13
        data:-11 detail:35 discon:11 due:18 during:15 engine:25 enoent:22 exceed:-11 execut:23
        exit:13 failed:32 fetch:-17 found:-8 functi:-10 genera:47 happen:33 here:22 hit:26 http:-7
        info:16 invali:-15 invoke:-7 json:11 kv:20 limit:-11 llm:14 load:20 logs:16 many:13 mcp:78
        model:-18 more:-7 nil:18 no:12 npx:17 occurr:43 oops:46 openai:11 operat:30 output:7
        post:17 proces:7 projec:16 prompt:-8 provid:-15 query:17 questi:23 qwen:17 reason:-8
        receiv:-8 refres:18 reques:9 respon:10 retry:16 return:-8 review:20 runnin:30 search:18
        see:11 server:11 servic:-8 settin:-7 side:-8 someth:54 sorry:19 spawn:34 start:13 state:16
        stoppe:23 stream:-17 task:23 text:25 timed:10 token:-8 too:9 tool:28 tools:15 transp:13
        try:22 unable:26 undefi:45 unexpe:36 unknow:61 url:-8 use:-7 user:14 valida:-8 went:21
        wrong:52
    """,
}
