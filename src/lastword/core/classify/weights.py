"""Weights of words, written by `benchmarks/lexicon.py`: do not edit, but add samples and rerun it.

A word's beginning, a colon and its weight for the type, in tenths; below zero it speaks against it.
"""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType

TENTHS = 10
BIASES = {
    ErrorType.AGENT_CRASH: -40,
    ErrorType.AUTH: -20,
    ErrorType.BUDGET: -21,
    ErrorType.CONTENT_FILTER: -35,
    ErrorType.CONTEXT_OVERFLOW: -28,
    ErrorType.INTERNAL: -42,
    ErrorType.INVALID_REQUEST: -26,
    ErrorType.MODEL_NOT_FOUND: -26,
    ErrorType.NETWORK: -20,
    ErrorType.PROTOCOL_ERROR: -38,
    ErrorType.PROVIDER_UNAVAILABLE: -21,
    ErrorType.RATE_LIMIT: -23,
    ErrorType.TIMEOUT: -28,
    ErrorType.UNKNOWN: -40,
}
WEIGHTS = {
    ErrorType.AGENT_CRASH: """
        400:-12 acp:18 agent:47 ai:-7 an:-11 and:-7 api:-19 at:8 be:-8 bin:31 body:-7 by:25
        cannot:24 claude:41 code:19 comman:22 connec:-13 curl:12 curren:18 denied:23 detail:-7
        direct:16 down:23 droppe:10 engine:20 enoent:39 env:11 errno:40 exceed:-10 exit:15 exited:64
        failed:-8 failur:16 file:27 find:29 first:17 format:24 found:23 from:-7 gemini:18 genera:-9
        handle:7 in:-14 index:10 intern:27 invali:-8 is:12 java:27 lib:10 librar:30 limit:-8 llm:-7
        loaded:20 loadin:9 memory:26 messag:-18 method:-8 model:-19 module:16 no:12 node:31 not:44
        npx:23 object:8 of:13 open:9 openco:42 opt:14 oserro:25 out:18 permis:23 please:9 proces:54
        provid:-9 ready:15 reques:-26 requir:23 return:17 runnin:15 send:10 server:28 servic:-8
        sigkil:26 signal:36 so:16 spawn:38 specif:8 start:18 stream:-8 such:15 suppor:-7 the:-9
        this:-9 to:-7 transp:14 type:-12 unexpe:27 unsupp:18 usr:23 was:7 while:7 with:46 you:-8
        your:-12
    """,
    ErrorType.AUTH: """
        'autho:7 'choic:-11 'error:15 'gpt:-11 'inval:20 'rate:-13 400:-13 401:93 402:-12 403:95
        404:-20 407:25 422:-13 429:-28 500:-17 502:-9 503:-9 524:-10 about:-9 accept:-7 access:52
        accoun:38 action:14 after:-14 agent:-9 ai:10 aio:7 all:-9 and:7 anothe:7 anthro:8 api:35
        applic:21 are:7 arrear:-11 as:-9 assist:-16 attemp:-8 auth:48 authen:77 author:20 availa:-22
        aws:14 backen:8 balanc:-28 base:-7 be:9 bearer:7 bedroc:11 been:13 being:10 billin:-21
        block:8 blocke:28 body:-8 budget:-16 call:-13 callin:9 can:-13 cannot:-13 carry:7 catego:8
        certif:18 check:-13 claude:-8 closed:-9 cloud:8 code:7 codewh:8 cody:13 com:10 comple:-19
        connec:-10 connex:-7 consum:-8 contai:-10 conten:-20 contex:-11 conver:-9 copilo:10
        correc:11 countr:26 creden:75 credit:-18 curl:-9 custom:-12 de:33 defaul:22 define:-7
        denied:21 deploy:-10 detail:8 did:-9 disabl:23 don't:17 el:-12 email:25 empty:-10 enable:13
        endpoi:16 engine:-7 enough:-16 env:11 enviro:13 err:-12 errno:-20 error:-10 error':-9
        exceed:-16 exhaus:-23 exited:-7 expire:39 fail:7 fetch:-11 find:-7 flagge:-12 flash:-7
        foo:-12 for:19 forbid:54 format:-13 found:-8 free:17 from:31 functi:-15 gatewa:18 gcloud:9
        getadd:-8 good:-11 google:13 gpt:-12 has:18 have:14 having:-7 here:-7 host:-11 http:-14
        httpsc:8 iam:26 in:15 includ:19 incorr:22 infere:7 input:-21 inputs:-7 invali:18 invoke:9
        is:9 ist:-10 its:-7 json:-15 just:13 key:62 kv:-10 le:-14 licens:-7 limit:-25 list:-9 llm:-8
        load:9 locati:23 logged:8 login:40 make:-7 many:-10 maximu:-11 messag:7 metada:8 method:-22
        minute:-8 missin:31 model:-44 modera:-8 monthl:-9 msg:18 name:-12 needed:9 net:-9 new:-8
        none:-7 not:19 now:-7 oauth:13 object:-12 obtain:8 of:-18 on:-15 only:-13 oops:-7 open:8
        openai:14 openco:-9 operat:15 or:10 organi:33 oserro:8 out:-16 output:-12 overlo:-9
        param:-10 parame:-8 params:-10 parse:-11 pass:13 passwo:18 paymen:-16 perfor:16 permis:33
        pool:8 port:-7 precon:29 preven:13 projec:9 prompt:-16 protoc:-12 provid:24 proxy:8
        purcha:-7 quota:-29 range:-9 rate:-15 re:12 reach:-7 reache:-29 read:-12 reauth:9 receiv:-8
        refres:32 region:10 requir:17 reset:-8 resour:-12 respon:-36 retrie:14 retryi:-8 return:-17
        role:10 rpc:8 run:13 runnin:-9 schema:-8 sdk:11 sdkerr:7 second:-7 secret:17 securi:26
        see:-7 sendin:-9 serve:12 server:-20 set:13 settin:17 sign:18 solici:-12 someth:-9 specif:8
        ssl:-8 standi:-11 start:-12 status:22 subscr:-8 such:-9 suppor:15 sure:-10 suspen:17
        syntax:-7 system:-8 team:-10 tempor:-10 text:-7 than:-7 that:10 the:9 this:10 timed:-9
        timeou:-11 token:56 tokens:-16 too:-19 tool:-11 traffi:17 tried:-10 true:-7 try:-19 type:-19
        unauth:89 unavai:-15 unexpe:-16 unknow:-17 update:7 upgrad:-10 upstre:-10 usage:-18 use:28
        used:11 user:32 valid:19 valida:13 value:-14 var:9 variab:13 verifi:19 versio:-17 vertex:11
        virtua:18 wait:-8 websit:11 were:7 which:-7 while:-8 worksp:-7 yet:-7 you:28 い:7 く:14 さ:11
        だ:14 ま:-8 ス:-7 ト:-8 ロ:9 上:-8 不:9 余:-7 务:12 可:-7 后:-7 在:9 失:23 已:12 您:12 户:-7 接:-9 效:15 数:-8
        无:18 时:-7 服:11 期:12 权:15 用:-8 的:13 稍:-8 证:18 试:-7 败:12 费:-7 超:-8 过:7 错:-8 额:-9
    """,
    ErrorType.BUDGET: """
        'error:8 'insuf:12 'messa:9 400:7 402:49 403:28 404:-7 429:63 500:8 503:-11 access:8
        accoun:33 active:14 add:20 additi:7 after:-23 again:-9 ak:9 allowa:9 allowe:-8 and:-19
        answer:-10 apista:-8 arrear:18 at:-7 authen:-10 automa:7 availa:10 balanc:97 base:-7
        becaus:8 been:11 billin:64 blocke:-10 body:-19 budget:44 call:17 callin:12 chat:10 check:-22
        claude:-14 code:9 codewh:7 comple:-9 concur:-22 config:-9 connec:-23 consid:-7 consol:10
        consum:17 conten:-12 contex:-10 contin:17 cost:22 could:-12 credit:83 curren:14 daily:42
        day:61 de:-12 deadli:-7 denied:16 der:-8 detail:-7 die:-10 discon:-9 down:-8 during:8 el:-7
        email:-8 enable:17 ended:9 engine:-9 enough:52 errno:-7 error:-20 es:-10 exceed:30 execut:9
        exhaus:22 expect:-9 expire:-7 failed:-12 fetch:-7 flagge:-7 flash:12 found:-23 free:40
        functi:-8 gatewa:-13 gemini:9 genera:-10 good:18 has:29 have:27 here:7 high:-8 higher:14
        hit:16 host:-9 hour:11 how:-11 id:10 id':7 in:-18 includ:9 increa:-26 inform:-9 input:-13
        insuff:72 intern:11 invali:-25 invoke:11 is:-12 ist:27 its:13 keep:10 key:13 last:-8 le:-7
        limit:48 litell:-10 load:-10 login:-12 longer:-8 low:11 make:15 many:7 max:17 memory:-11
        messag:13 method:20 minima:12 minute:-29 missin:-14 mode:10 model:-24 moment:-8 month:25
        monthl:46 more:13 must:-16 need:10 next:9 no:-11 node:-7 not:-7 number:-10 of:-13 on:24
        oops:-8 openai:-14 or:10 organi:-14 our:-8 out:17 overlo:-8 packag:11 paid:22 pay:9
        paymen:28 per:22 plan:18 please:28 pm:16 policy:-12 pre:14 premiu:15 pro:8 proces:-9 proj:7
        projec:23 prompt:-9 protoc:-7 purcha:15 quota:89 rate:8 reache:58 reason:-13 receiv:-7
        rechar:8 recurs:-9 redact:15 reduce:-10 region:10 regist:9 remain:10 replen:10 req:-9
        requir:25 reset:10 resets:27 resour:-8 respon:-22 retrie:-10 retry:-41 return:-10 run:15
        runtim:-10 safety:-7 second:-9 sent:-11 server:-24 sessio:-13 size:-11 slow:-7 someth:-8
        spend:22 src:7 standi:18 start:-13 submit:-7 subscr:24 suppor:-12 sure:17 switch:9
        tempor:-15 termin:-8 that:-9 the:-10 thinki:13 this:16 tier:7 timed:-8 timeou:-10 today:20
        token:9 tomorr:11 tool:-8 top:13 tpd:19 tpm:-13 trial:16 try:-11 type:-13 unable:-11
        unexpe:-14 unsupp:-12 up:27 upgrad:41 upstre:-7 usage:70 used:22 user:14 using:15 value:-13
        verify:-11 versio:-10 visit:9 volume:8 wait:18 weekly:11 when:11 while:-8 will:17 with:-9
        withou:-9 wrong:-9 yet:7 you:23 you're:9 you've:27 your:41 い:8 し:8 て:9 で:-7 ス:-7 ッ:8 ト:-9
        上:16 不:11 余:25 值:21 充:21 入:-8 到:9 前:-8 务:-7 在:-9 型:-12 大:8 度:9 户:23 接:-8 服:-10 模:-11 次:13
        求:-11 流:10 源:8 用:39 的:8 系:-7 访:8 误:14 费:19 资:8 足:28 量:13 错:13 问:8 限:12 频:-8 额:30 高:10
    """,
    ErrorType.CONTENT_FILTER: """
        400:20 403:13 429:-9 an:-9 appear:19 as:12 at:-9 base:10 becaus:12 bio:13 blocke:39 body:-7
        but:8 by:15 can:11 candid:9 chat:17 claude:10 client:-7 code:14 comple:-7 config:11
        connec:-14 consid:7 contai:19 conten:89 data:8 define:13 detect:7 due:9 error:-25 esc:7
        exceed:-11 except:-18 exists:9 filter:45 find:12 finish:12 flagge:49 for:9 from:-12 grok:8
        has:-9 have:-7 high:7 http:-7 in:-7 inform:15 input:40 intern:-9 invali:8 is:-11 it:12
        limit:-10 machin:8 may:10 messag:16 mistra:19 modera:16 modify:7 more:9 msg:9 must:-8 new:32
        no:-16 not:-27 object:12 of:-10 openai:10 our:26 output:23 policy:46 potent:10 press:7
        proces:-7 prompt:23 reason:7 reject:13 requir:8 resp:11 respon:38 result:17 risk:13
        safety:53 see:9 sensit:59 server:-15 sorry:7 stream:-10 system:10 team:8 the:20 this:8
        tokens:-7 too:-8 trigge:17 try:15 type:10 unable:8 unexpe:-10 url:-9 usage:23 violat:47
        was:58 which:12 with:-9 you:11 your:10 し:9 た:11 は:7 ま:7 れ:7 エ:15 ク:15 コ:17 ス:14 ッ:17 ト:13
        リ:15 ロ:17 ン:15 ー:13 不:16 入:21 到:9 包:23 可:21 当:12 您:8 或:8 数:11 检:8 系:9 能:23
    """,
    ErrorType.CONTEXT_OVERFLOW: """
        'bad:11 'code':9 'inval:-8 'max:8 'messa:9 'objec:12 'param:10 'type':7 400:40 401:-7 403:-8
        413:52 422:10 429:-22 503:-11 accept:11 access:-9 accoun:-13 after:-8 ai:-10 algo:14
        allowe:-7 an:-14 api:-23 assist:7 bad:21 balanc:-8 be:17 body:11 budget:-8 by:-10 cache:19
        call:-7 capaci:-8 charac:11 check:-7 claude:-19 client:-11 comple:-7 connec:-8 conten:-13
        contex:73 contin:22 conver:19 count:13 curren:-11 de:-9 deadli:-26 detail:-11 die:21 due:-8
        end:-10 entity:7 error:-27 es:14 exceed:49 except:-14 failed:-11 find:22 for:-9 found:-11
        free:13 from:-11 functi:-8 genera:-8 given:12 got:8 howeve:11 id:-7 in:9 increa:7 input:63
        inputs:12 invali:12 invoke:12 is:9 ist:13 json:-10 key:-10 kv:25 la:22 lang:24 large:41
        least:7 length:53 limit:17 llm:-8 long:50 longer:18 many:-15 max:20 maximu:7 messag:21
        model:13 model':25 msg:11 must:13 networ:-7 new:13 no:-18 none:10 not:-35 number:-10
        occurr:-7 of:10 or:12 org:12 out:-7 output:-10 overlo:-8 param:-8 parame:8 please:-9
        proces:-14 prompt:43 provid:-7 quota:-13 range:10 rate:-10 reache:-13 reason:-9 receiv:-7
        reduce:24 reques:13 requir:-14 resour:-7 retry:-9 sensit:-15 server:-11 set:-7 should:12
        size:48 sorry:-7 start:21 state:8 status:-17 stream:-13 suppor:-9 than:17 the:11 this:22
        thread:10 timeou:-9 to:-12 token:25 tokens:67 too:67 tpm:13 try:17 unable:-8 unknow:-7
        url:-8 usage:-11 use:-8 used:-7 user:-7 valida:16 value:-15 wait:-8 was:-9 window:32 you:-14
        your:13 い:-7 が:16 し:-7 す:17 て:-7 ま:14 上:12 不:-9 入:20 制:12 型:9 大:13 度:11 开:12 模:9 超:23 限:8
    """,
    ErrorType.INTERNAL: """
        'choic:30 'conte:14 'max:8 'none:23 'rate:20 'x':11 400:-15 access:15 again:-7 agent:-10
        ai:-11 an:11 and:-9 argume:49 attemp:17 be:23 body:-7 budget:7 called:21 can't:20 cannot:7
        charac:20 choice:7 closed:16 code:-35 config:26 connec:-13 conten:27 could:-11 create:10
        data:7 de:-8 define:13 direct:14 empty:10 errno:7 error:44 event:18 exceed:9 except:-10
        expect:15 failed:-22 fetch:-14 file:27 for:-20 format:10 from:-8 functi:21 genera:7 got:28
        has:11 having:20 histor:14 in:7 index:12 intern:16 is:21 key:41 known:12 list:13 llm:27
        make:13 many:12 max:-7 maximu:24 messag:-22 model:-19 must:16 nil:16 no:20 not:41 number:7
        object:25 occurr:-9 of:42 ollama:13 on:-7 one:11 option:10 parame:-9 parse:-8 please:-14
        proper:14 provid:-14 range:13 read:15 readin:13 reason:-7 recurs:40 reques:-25 resour:-7
        return:-7 runtim:16 server:-17 sessio:13 status:-11 stop:11 stream:12 such:13 suppor:-7
        termin:-18 text:-8 the:-23 this:-9 to:14 too:10 transp:-9 type:20 type':22 undefi:7
        unexpe:10 unknow:-8 valid:-7 value:38 with:-9 withou:31 wrong:24 you:-8 your:-13
    """,
    ErrorType.INVALID_REQUEST: """
        'faile:15 'inval:9 'messa:13 'not:-7 'objec:-7 'reque:10 'tempe:10 'x:-8 400:70 401:-15
        403:-23 404:-22 422:50 429:-23 502:-13 503:-8 524:-7 accept:9 access:-21 accoun:-20
        adjust:14 ai:11 algo:-10 all:9 allowe:22 alread:19 altern:15 an:20 apical:10 are:25
        argume:16 array:9 as:20 assist:22 authen:-14 availa:-7 aws:8 bad:16 balanc:-10 becaus:-10
        bedroc:8 been:-9 before:-8 being:-7 block:14 blocke:-14 blocks:21 body:40 by:20 call:38
        callin:9 can:-8 cannot:8 capaci:-8 cause:8 certif:-9 charac:-8 chatgp:-7 claude:8 code':8
        com:-12 comes:12 commun:10 comple:-17 connec:-19 contai:7 core:7 corres:8 could:-23
        countr:-15 creden:-11 curren:-16 custom:21 data:-20 de:-9 demand:-7 demo:9 denied:-10
        deploy:-9 does:39 due:-11 each:10 empty:21 endpoi:-25 enough:-9 errno:-9 errors:11 event:7
        exceed:-31 execut:9 exist:-14 exited:-7 expire:-8 extra:13 failed:-9 failur:-7 fetch:14
        field:19 finish:-15 follow:22 foo:-9 for:11 found:17 from:48 functi:36 gatewa:-12 google:-7
        had:7 has:-10 having:8 histor:-9 host:-9 id:12 ids:7 if:11 immedi:12 infere:7 inform:-9
        inputs:9 instea:7 insuff:-11 intera:11 intern:12 into:8 invali:31 invoke:-14 it:-14 key:-25
        known:-10 length:-19 limit:-16 line:-13 list:13 litell:12 load:-8 locati:-15 logged:15
        long:-14 longer:-7 make:-7 malfor:-14 many:-9 match:14 max:10 maximu:16 may:-8 messag:18
        method:50 missin:22 model:12 must:48 name:8 new:-9 non:10 not:21 now:7 number:19 nvidia:-10
        of:-16 on:-8 only:15 openro:8 operat:-11 option:11 out:-17 overlo:-11 param:33 parame:69
        params:32 parse:20 pass:8 passed:22 permis:-9 permit:10 please:-12 policy:-7 port:21
        precon:-14 proble:7 proces:-16 produc:-7 projec:-7 prompt:18 proper:20 quota:-11 raised:9
        range:14 rate:-9 reache:-11 reason:18 recove:8 redact:14 refres:-7 reject:37 remote:-8
        reques:29 requir:25 reset:-15 respon:-24 result:14 return:15 right:7 risk:-8 rpc:-7
        safety:-10 schema:18 search:7 sendin:-14 sensit:-14 server:-13 servic:11 sessio:13 set:23
        should:12 single:7 source:-9 start:-7 status:22 stoppe:8 string:28 suppor:36 termin:-10
        text:24 the:14 think:8 thinki:23 this:8 tier:-8 timed:-9 timeou:-8 title:-10 token:-22
        too:-21 tool:38 tools:28 toolu:11 troubl:9 true:9 trying:14 turn:12 type:19 unable:-9
        unauth:-7 unavai:19 under:7 unexpe:-17 unhand:16 unknow:-10 unsupp:23 url:23 usage:-8
        usuall:9 valid:-18 valida:7 value:27 was:-15 were:11 when:14 which:18 will:7 with:17
        withou:8 wrong:-10 xx:17 you:-7 your:-25 不:-10 发:10 型:-10 时:8 查:7 模:-9 求:8 法:10 的:-7 误:8
        超:-15
    """,
    ErrorType.MODEL_NOT_FOUND: """
        'gpt:20 'inval:12 'model:9 'not:8 'the:10 'x:15 'x':7 400:38 403:-16 404:123 429:-22 500:-8
        502:-9 503:-11 access:23 accoun:13 action:-7 additi:-9 after:-10 allowe:23 and:22 anothe:7
        any:8 are:-16 argume:-7 arn:12 assist:-8 at:-11 attemp:-7 auth:-10 availa:27 bad:-15
        balanc:-7 bar:8 base:8 becaus:-7 bin:-12 by:-20 can:10 cannot:-11 capaci:-14 chat:9 chatgp:8
        claude:11 codex:8 com:-7 comman:-17 comple:7 connec:-20 conten:-14 contex:-7 conver:10
        core:13 could:-16 countr:-8 create:7 creden:-7 credit:-8 curren:-8 de:-12 defaul:-8
        demand:39 denied:8 deploy:25 detail:7 dev:8 don't:-8 due:-7 during:-9 el:19 enable:9 end:7
        endpoi:29 enough:-16 err:-7 errno:-9 error:-17 es:-7 exceed:-29 except:9 exhaus:-8 exist:45
        exit:-10 expect:-7 failur:-10 file:-9 find:-7 flash:10 follow:-9 foo:34 for:-21 format:-8
        found:60 free:-17 from:-19 functi:-19 gated:9 gatewa:18 gemini:-13 genera:-8 global:9 gpt:34
        has:-10 have:16 host:-7 id:14 identi:16 in:-10 includ:-7 input:-33 insuff:-15 intera:-10
        invali:14 invoca:10 invoke:-9 is:8 isn't:21 it:19 its:12 json:-8 last:7 le:17 librar:-7
        licens:9 life:9 limit:-27 list:9 load:-14 loadin:-19 longer:15 max:-8 maximu:-8 memory:-7
        method:-27 minute:9 missin:-8 mistra:-7 model:89 models:34 must:-12 need:9 no:24 not:24
        nova:8 on:11 openai:13 openco:-11 org:7 out:-11 output:-10 overlo:-8 page:7 param:9
        parame:-9 pass:-10 passed:-8 pick:13 plan:19 pro:11 proces:-14 profil:14 prompt:-19
        provid:16 query:-7 quota:-15 rate:-10 ready:-20 redact:-13 reject:-7 reques:8 requir:-17
        reset:-7 resour:10 respon:-21 result:-7 retry:7 return:-10 role:-10 runnin:-9 second:-10
        select:19 server:-22 servic:-21 set:-7 sorry:8 specif:-9 stream:-15 such:14 suppor:19
        target:7 text:-10 than:-10 the:9 throug:13 timed:-7 to:-10 token:-16 tokens:-19 too:-17
        tried:11 try:-7 trying:-11 turbo:10 type:-10 under:8 unexpe:-11 unknow:21 unsupp:-15 up:-8
        upstre:-9 usage:-7 use:11 user:-13 using:14 valida:13 value:-8 versio:10 vertex:-7 view:9
        visit:8 wait:7 when:10 which:-7 while:-7 with:-8 within:8 withou:-11 worksp:10 you:8 your:17
        不:9 在:17 型:23 存:19 开:9 或:9 模:24 的:-7 试:-7
    """,
    ErrorType.NETWORK: """
        'api:10 'conte:-7 'not:12 400:-26 401:-15 403:-19 404:-18 407:-8 429:-27 443:-18 500:-11
        502:-17 503:-17 524:-10 529:-11 aborte:21 accoun:-12 after:-7 again:16 agent:-19 agents:8
        ai:-11 aio:-7 amazon:11 an:-32 and:-9 anthro:9 apicon:28 argume:-8 at:17 attemp:-10
        authen:-14 axios:12 bad:-19 becaus:-11 before:-14 billin:-8 body:17 broken:20 buildi:7
        but:-7 by:16 bytes:21 call:-10 called:-14 callin:-11 can:-8 can't:-10 cannot:10 capaci:-7
        cause:8 cert:13 certif:44 chain:14 charac:-7 chat:-7 check:39 chunke:8 client:27 close:39
        closed:34 code:-39 column:7 com:17 commun:9 comple:34 conexi:27 config:-11 connec:87
        connex:33 contai:-12 conten:-25 contex:-8 conver:-12 could:9 creden:-14 credit:-9 curl:35
        curren:-10 data:14 de:-15 denied:-20 deploy:-8 detail:-19 did:-14 discon:46 dispat:16
        due:-17 during:8 eai:19 econnr:38 el:7 encodi:18 end:21 ended:13 enoent:-19 enough:8 eof:39
        err:36 errno:31 error:24 es:8 establ:24 etimed:-35 exceed:-26 except:31 execut:-12
        exhaus:-10 exit:-7 exited:-10 failed:24 failur:21 fetch:15 filter:-7 for:-8 forbid:-12
        format:-14 found:-19 free:-10 from:-21 functi:-9 gatewa:-14 gemini:7 genera:-10 get:15
        getadd:26 handle:-8 has:-14 hat:-9 have:-10 header:10 host:54 http:27 hyper:7 iam:-9 if:17
        incomp:18 infere:-13 info:-7 insuff:-7 intern:-9 interr:15 invali:-15 io:17 is:-11 issuer:20
        it:-9 java:12 json:-8 key:-22 known:25 konnte:21 kv:-8 latest:-11 le:-24 length:8 limit:-22
        llama:-8 load:8 local:9 lookup:12 lost:27 many:-10 max:-9 maximu:-10 mcp:-24 messag:-11
        method:7 model:-23 models:-7 moment:-10 msg:-11 must:-10 name:24 net:25 networ:51 new:-11
        not:-16 now:8 npx:-12 object:-7 off:11 on:11 open:-7 openai:8 operat:-26 option:-9 or:-21
        oserro:-14 out:-31 overlo:-14 param:-7 parame:-12 parse:-29 parsin:-9 pass:10 path:20
        payloa:11 peer:23 permis:-14 persis:12 pkix:7 port:8 post:36 premat:22 proble:13 proces:-18
        projec:-7 proper:-17 protoc:34 provid:-21 proxy:19 quota:-7 rate:-12 reache:-8 read:40
        readin:-16 receiv:38 refuse:8 reject:-7 remote:31 report:7 reques:-9 requir:-19 reset:7
        resolu:11 resolv:22 respon:21 result:9 retrie:-12 retry:-12 return:-15 right:9 rpc:-9
        runner:-7 runtim:-11 safety:-8 satisf:10 se:31 securi:7 select:12 self:12 sendin:51 sent:22
        servic:23 signal:-7 signed:15 socket:26 solici:-7 someth:-11 sorry:-7 spawn:-20 ssl:48
        start:-12 status:-31 stream:40 string:-7 such:8 target:9 tcp:12 termin:30 test:15 test':10
        text:-17 that:-8 then:10 this:-23 time:-13 timed:-22 timeou:-46 tls:37 to:17 token:-15
        tokens:-29 too:-21 total:12 transf:12 troubl:10 true:10 unable:8 unauth:-24 unexpe:21
        unsupp:-7 up:17 url:22 use:-7 user:-9 valida:-13 value:-20 verbin:19 verify:17 vpn:13 was:11
        werden:21 write:31 wrong:-10 you:-16 your:-24 い:-13 が:-11 く:-7 た:8 だ:-7 て:-7 で:19 に:13 の:21
        は:12 れ:9 ス:9 ト:8 ホ:15 ー:8 不:9 主:17 了:8 再:-8 在:-11 失:-8 常:16 异:16 或:-9 接:39 无:9 时:-12 机:20
        法:12 用:-9 的:15 続:18 络:17 网:17 被:7 败:-7 超:-8 连:22 道:12 重:13 限:-9
    """,
    ErrorType.PROTOCOL_ERROR: """
        400:-8 404:-9 429:-8 500:-8 again:-8 agent:-8 ai:26 and:11 any:12 argume:-7 assist:8 at:16
        be:-13 but:12 call:17 callin:-7 can't:9 char:16 charac:11 client:9 code:-31 column:20
        comple:-9 connec:-12 contai:9 conten:9 data:9 decode:13 detail:-11 did:40 empty:22 end:14
        error:26 error':17 except:9 expect:38 fetch:21 finish:18 foo:13 for:20 format:14 found:17
        from:23 functi:11 gemini:17 genera:10 got:-7 has:-8 http:14 id:-9 intern:-20 invali:48
        json:57 jsonde:16 key:-11 langua:9 limit:17 line:52 llama:10 llm:13 longer:10 malfor:30
        may:9 model':9 must:-9 name:16 not:19 occurr:-13 of:9 on:-7 operat:-9 out:-7 output:18
        overlo:-7 parame:-8 params:-7 parse:66 parser:11 parsin:14 please:-16 positi:24 proces:-7
        protoc:41 provid:14 rate:-7 read:-8 reason:14 remote:8 resour:-7 respon:44 return:13 role:19
        schema:8 server:10 servic:-9 start:11 status:10 suppor:-14 syntax:12 termin:-7 text:12
        than:10 timeou:-7 tls:-10 to:-36 token:16 too:-9 try:-8 unexpe:32 unhand:19 unknow:-8
        unsupp:27 upstre:-7 url:7 utf:10 valid:29 valida:16 value:47 versio:33 vertex:19 was:-12
        when:-10 with:11 you:-8 your:-15
    """,
    ErrorType.PROVIDER_UNAVAILABLE: """
        'code':8 'error:9 'inval:-8 'llama:7 'messa:7 'model:9 'type':10 400:-27 402:-8 403:-26
        404:-11 422:-11 424:20 429:11 500:73 502:80 503:99 504:-19 520:31 529:41 access:-20
        action:-9 add:-9 additi:17 addres:14 after:8 again:17 agent:-16 ai:18 aio:12 all:24 alloca:7
        allowe:-9 amazon:-11 an:24 any:-7 apical:14 apista:11 app:-10 are:10 argume:-17 as:11
        assist:-8 attemp:-9 auth:-14 authen:-11 availa:45 aws:-8 b':12 backen:9 bad:22 balanc:-20
        be:15 becaus:10 been:-19 before:27 billin:-8 blocke:-9 body:-20 browse:-7 busy:30 but:-8
        by:-18 call:-14 can:11 candid:10 capaci:54 cc:13 center:10 certif:-13 charac:-7 chat:-8
        check:-11 claude:-18 client:-9 closed:-14 code:20 code':7 connex:-7 consol:-8 contai:-15
        conten:-17 contex:-32 cooldo:7 could:28 create:-11 creden:-14 credit:-8 curl:-8 curren:34
        de:-18 deadli:-11 decode:11 decrea:12 deep:9 demand:-7 denied:-12 deploy:24 detail:9 did:-7
        does:-8 down:-11 droppe:-8 due:14 el:16 empty:-18 enable:-14 encoun:22 end:-8 engine:22
        enoent:-10 errno:-13 es:-9 exceed:9 except:-15 exhaus:-16 exit:22 exited:-14 experi:19
        expire:-7 failed:9 fallba:8 fetch:-21 file:-12 filter:-13 find:-11 flash:-9 foo:-8 for:-27
        forbid:-9 format:8 found:-21 free:-13 functi:9 gatewa:15 gemini:-14 genera:-9 gib:10 git:-8
        gpt:7 had:8 handle:18 have:-14 header:33 help:10 high:21 host:-9 hub:-7 id:9 infere:34
        inform:13 input:-16 insuff:-8 intern:8 invali:-19 invoca:-9 is:18 java:-9 json:-7 key:-17
        kv:-7 la:-7 langua:-11 last:7 later:23 latest:12 le:30 length:-9 limite:-10 limits:-9
        litell:12 llama:33 load:14 loadin:45 login:-7 long:-14 longer:-11 manage:9 may:17 mcp:-8
        memory:44 messag:8 model:61 model':-9 moment:36 more:-11 msg:-8 must:-15 name:-8 net:-12
        networ:-18 new:-8 no:7 not:-27 now:11 npx:-8 null:12 nvidia:12 occurr:12 on:-21 oops:-9
        open:-8 openai:-11 openro:-7 operat:-9 or:9 organi:-9 our:15 out:-9 output:-13 over:-7
        overlo:83 parame:-10 parse:-11 parsin:9 passed:8 per:-11 permis:-11 plan:-15 policy:-11
        post:-10 proces:54 produc:13 projec:-7 prompt:-13 protoc:-17 provid:19 query:-8 queue:14
        quota:-20 qwen:-8 range:-7 rate:-18 reach:24 reache:-12 read:-16 readin:7 ready:28 receiv:-7
        refres:-11 refuse:9 reject:-11 report:7 req:18 requir:-18 reset:40 resour:14 restar:15
        result:-9 retrie:16 retry:19 retryi:11 return:11 right:12 rpc:15 runner:38 runnin:19
        runtim:28 second:11 securi:-7 select:11 sendin:-13 serve:8 server:48 servic:34 sessio:-11
        settin:-8 shortl:12 side:12 socket:-7 someth:-7 spawn:-11 status:17 stoppe:-7 stream:-13
        studio:14 such:-15 suppor:-19 task:-8 tempor:36 than:-8 that:8 there:10 thinki:-7 thrott:-9
        throug:9 tier:26 time:-7 title:15 tls:-8 token:-19 tokens:-9 too:-20 took:-8 traffi:9
        transi:17 tried:7 try:23 trying:-13 unable:13 unauth:-14 unavai:52 undefi:-7 under:-9
        unhand:-10 unknow:11 unsupp:-9 upstre:43 us:10 usage:-14 used:-7 user:-11 users:12 using:-12
        utf:12 valida:-19 value:-11 verify:-8 versio:-8 vertex:-7 violat:-12 wait:-10 was:-18
        we're:20 web:9 while:14 will:-11 with:-17 withou:9 worksp:7 wrong:-10 yet:7 you:-9 your:-7
        い:13 が:12 す:14 た:-10 て:13 ば:8 ら:8 を:-7 ト:-7 モ:10 ー:7 入:-8 再:20 前:17 务:14 发:-7 可:16 后:11 器:7
        在:8 型:14 失:-9 度:-9 当:14 或:-7 数:-11 时:11 服:14 查:-7 检:-8 模:15 求:-14 用:8 的:-13 稍:23 系:12 繁:13
        络:-7 网:-7 試:8 试:16 败:-8 超:-8 足:-9 限:-12 频:-11
    """,
    ErrorType.RATE_LIMIT: """
        'code':-7 'error:-15 'insuf:-7 'messa:-15 'type':-7 'x':-11 400:-32 401:-14 402:7 403:-17
        404:-11 413:-10 429:89 500:-9 502:-9 503:-10 access:-15 accoun:-7 after:34 alloca:8
        allows:15 an:-13 answer:9 api:17 apierr:10 apista:13 app:19 are:13 attemp:13 availa:-17
        bad:-14 be:-19 becaus:-10 been:15 before:11 body:12 by:-20 call:-10 callin:-11 can:11
        check:31 cloud:7 code:31 coder:9 concur:35 connec:-11 consid:11 contac:8 contex:-11 could:-7
        create:8 credit:-13 daily:-23 day:-44 de:32 denied:-7 deploy:-12 der:-7 detail:9 down:21
        el:-10 engine:-7 error:-24 es:30 exceed:-7 exhaus:61 expect:-13 failed:-17 failur:-8 fast:23
        flash:-10 for:14 forbid:-7 found:-14 free:-7 genera:9 have:7 header:-7 host:-7 hour:-8
        how:11 id':-7 in:29 increa:48 insuff:-16 intern:-11 invali:-26 is:-21 ist:-9 json:-7 key:-7
        la:-17 large:-15 last:12 le:-10 licens:7 limit:58 limite:34 limiti:9 limits:25 llm:-17
        main:7 many:37 max:10 may:-7 mcp:-15 minute:44 mistra:9 model:-9 month:-9 monthl:-20 new:-10
        no:-32 not:-35 now:-7 number:15 observ:7 of:12 on:15 oops:-7 openro:11 or:-13 organi:10
        out:-20 output:-8 over:26 overlo:-15 own:10 packag:-8 passed:-8 per:7 permis:-7 please:22
        pm:-7 proces:-17 proj:-7 projec:-16 protoc:-8 quota:28 rate:90 reache:29 read:-9 reason:-9
        rechar:-7 refer:7 req:10 reques:16 requir:-10 resets:-7 resour:29 retrie:12 retry:35
        return:13 rpm:7 run:-9 runtim:-11 se:-8 search:-12 second:16 select:-11 sendin:23 sent:16
        settin:10 size:-14 slow:23 solici:34 spend:-19 spendi:12 status:20 tempor:8 than:10 the:-13
        these:7 thinki:-9 thrott:37 tier:-8 timed:-7 timeou:-13 today:-7 token:-9 tokens:10
        tomorr:-9 too:33 tool:-17 tpd:-17 tpm:7 try:-16 trying:17 unable:-13 unauth:-12 unavai:-10
        unexpe:-16 unsupp:-7 up:-8 url:-10 usage:-13 use:-8 user:-8 value:-14 violat:-10 wait:21
        weekly:-9 went:8 which:7 while:-7 worksp:12 would:8 you:23 you've:-9 your:8 お:14 す:-8 に:-7
        を:11 ト:10 ン:-7 不:-14 于:10 候:11 值:-7 充:-7 再:18 制:7 前:9 发:16 器:-9 型:-8 大:-9 并:17 接:-7 数:12
        无:-7 时:-8 机:-7 模:-8 求:23 稍:15 繁:12 访:7 试:8 请:9 超:13 过:19 重:-7 问:7 限:32 频:34
    """,
    ErrorType.TIMEOUT: """
        400:-23 401:-9 403:-11 408:43 429:-13 443:34 500:-9 504:52 524:59 access:-10 accoun:-8
        addres:-9 after:28 again:-7 ai:-10 all:-11 argume:-7 attemp:8 availa:-8 bad:-11 be:-7
        becaus:13 body:-10 by:-7 cancel:11 cannot:-8 certif:-7 client:9 close:-11 closed:-13 code:16
        comple:22 conexi:-7 connec:40 connex:12 conten:-9 contex:16 da:14 de:36 deadli:62 der:36
        dial:11 did:10 die:12 discon:-10 due:22 econnr:-8 el:8 endpoi:7 es:-12 etimed:44 exceed:40
        expect:-8 fetch:37 for:17 found:-9 gatewa:10 genera:-10 git:11 hat:31 have:-7 header:-10
        host:22 http:10 hub:12 id:-14 idle:11 index:-8 input:-8 intern:-15 invali:-22 invoca:9 io:7
        is:-22 key:-9 la:22 last:-11 le:28 limit:-20 list:-8 long:14 many:-7 max:-7 maximu:-9
        mcp:-11 memory:-17 messag:-25 model:-17 net:22 networ:15 nicht:13 no:-7 not:-22 of:-16
        openai:-8 operat:25 out:79 overlo:8 parse:-7 please:-23 possib:13 primar:8 proper:7
        protoc:-7 provid:-15 quota:-7 range:-7 rate:-10 read:23 reason:13 receiv:19 remote:-8
        requir:-8 reset:-15 return:-7 rpc:8 second:23 sent:-16 server:12 servic:-12 socket:14
        status:-10 stop:8 stream:22 tcp:10 termin:29 the:10 this:-9 time:40 timed:74 timeou:121
        token:-8 tokens:15 took:25 tool:-11 type:31 unavai:-17 unexpe:-19 unknow:-16 usage:-7
        valida:-8 verbin:13 waitin:17 while:7 win:15 with:10 wrong:-8 you:-14 お:9 ば:9 ら:9 エ:8 ク:8
        ス:7 リ:7 ー:-7 一:20 不:-9 主:7 于:9 后:16 响:11 在:7 已:9 应:21 度:7 开:10 或:7 断:11 时:31 机:7 查:10 检:9
        求:8 稍:-7 络:9 网:9 試:9 试:13 败:7 超:18 限:-8
    """,
    ErrorType.UNKNOWN: """
        'conte:15 400:-19 500:-8 about:19 action:12 agent:38 ai:-14 an:39 and:-9 answer:20 api:-7
        bad:14 be:-7 before:-8 browse:24 but:15 cc:-7 check:-12 closed:19 code:-9 comman:8 comple:9
        connec:11 consol:12 contac:12 contex:7 conver:17 could:23 couldn:21 detail:29 discon:10
        due:8 during:13 enoent:17 error:26 exceed:-12 execut:22 failed:38 fetch:-14 for:-8 found:-7
        from:-13 genera:46 happen:31 has:-7 here:21 http:-7 i'm:22 info:15 intern:-15 invali:-13
        is:-7 json:12 kv:18 limit:-9 llm:17 load:18 logs:12 many:9 mcp:71 model:-16 no:14 nova:7
        npx:13 occurr:24 oops:47 operat:28 or:-13 output:10 parse:-7 please:11 proces:-9 projec:16
        provid:-12 query:16 questi:21 qwen:16 reason:-13 receiv:-7 refres:9 reques:7 respon:13
        retry:10 runnin:9 search:16 see:8 server:20 servic:-7 settin:-9 side:-7 someth:53 sorry:16
        spawn:27 start:7 state:15 status:-18 stoppe:15 stream:-16 suppor:10 task:15 text:19 that:17
        the:-18 this:-9 timed:7 to:27 tokens:-8 tool:24 tools:12 transp:12 try:20 type:-30 unable:18
        undefi:34 unexpe:15 unknow:52 url:-9 user:15 was:7 went:22 when:-13 while:13 with:-16
        wrong:50 you:-9 your:8
    """,
}
