"""Weights of words, written by `benchmarks/lexicon.py`: add samples and rerun it, do not edit.

A word's beginning, a colon and its weight for the type, in tenths; below zero it speaks against it.
"""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType

TENTHS = 10
BIASES = {
    ErrorType.AGENT_CRASH: -41,
    ErrorType.AUTH: -19,
    ErrorType.BUDGET: -21,
    ErrorType.CONTENT_FILTER: -36,
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
        400:-11 acp:18 agent:46 ai:-7 api:-18 app:10 before:12 bin:34 call:-8 cannot:23 claude:47
        codex:11 comman:45 config:-14 connec:-12 curl:18 curren:19 denied:26 direct:11 down:26
        droppe:9 engine:19 enoent:37 env:7 errno:33 exceed:-8 execut:12 exit:34 exited:76 failur:18
        file:37 find:28 first:28 format:14 found:39 gemini:18 genera:-7 handle:7 id:-7 index:9
        intern:20 invali:-8 java:33 js:16 lib:12 librar:41 limit:-8 llm:-8 loaded:29 loadin:11
        local:7 memory:33 model:-18 module:13 next:-10 no:15 node:37 npx:21 nvim:13 object:8
        occurr:-10 open:8 openco:46 opt:16 option:12 oserro:15 output:8 path:12 permis:26 proces:58
        provid:-10 ready:23 reques:-10 requir:25 return:19 runnin:24 send:9 server:22 sigkil:27
        signal:36 spawn:34 specif:10 start:23 stream:-8 such:10 transp:21 unexpe:24 unknow:7
        unsupp:18 url:9 user:-7 usr:21
    """,
    ErrorType.AUTH: """
        400:-8 401:97 402:-10 403:81 404:-17 405:8 407:26 422:-12 424:-10 429:-25 500:-16 502:-11
        503:-9 504:-9 524:-14 abc:-13 accept:-9 access:45 accoun:43 action:23 addres:11 after:-7
        again:12 agent:-9 agents:10 ai:14 ak:17 allowe:14 anthro:8 api:35 apical:8 applic:20
        array:-7 arrear:-8 ask:7 assist:-20 attemp:-10 auth:51 authen:80 author:15 availa:-12
        aws:13 balanc:-31 base:-10 bearer:7 bedroc:9 being:14 billin:-31 block:9 blocke:48 body:-13
        budget:-14 busy:-8 call:-9 callin:13 cannot:-9 case:-7 certif:15 charac:-10 check:8
        choice:-19 closed:-12 cloud:20 coding:13 cody:14 comple:-20 connec:-8 connex:-7 consol:11
        consum:-8 contai:-14 conten:-23 contex:-8 conver:-13 copilo:16 correc:12 countr:34
        creden:71 credit:-23 curl:-10 curren:20 custom:-13 da:-7 de:24 defaul:21 denied:18 der:-7
        detail:7 die:15 disabl:34 due:-8 eai:-9 el:-16 email:25 empty:-11 enable:16 endpoi:30
        engine:-11 enough:-9 env:16 enviro:16 eof:-7 errno:-29 exceed:-15 execut:-10 exhaus:-27
        exist:20 exit:-7 exited:-8 expire:35 fetch:-20 flagge:-15 flash:-7 foo:-12 forbid:46
        format:-14 free:24 functi:-12 gatewa:28 gcloud:9 getadd:-10 go:11 good:-8 gpt:-9 here:-7
        high:-7 higher:-7 host:-12 http:-19 httpsc:7 hub:8 huggin:-7 iam:27 id:16 includ:15
        incorr:24 input:-17 inputs:-7 insuff:17 invali:29 invoke:18 ip:22 ist:-13 java:-7 json:-20
        just:16 key:49 known:10 kv:-9 la:14 lacks:7 le:-12 limit:-27 list:14 litell:8 load:7
        locati:26 logged:15 login:33 machin:8 many:-13 max:-9 maximu:-10 messag:-14 metada:7
        method:-31 mini:-13 minute:-7 missin:38 model:-44 modera:-12 moment:22 monthl:-10 msg:32
        must:16 my:-7 needed:9 net:-8 next:8 nicht:24 number:-8 nvidia:7 oauth:12 object:-13
        obtain:10 oops:-7 open:10 openai:8 openco:-11 operat:27 organi:54 oserro:7 output:-12
        over:-8 overlo:-10 paid:-7 params:-12 parse:-14 pass:22 passwo:21 paymen:-13 perfor:20
        permis:42 port:-7 precon:29 preven:18 pro:7 projec:12 prompt:-17 protoc:-12 provid:21
        query:7 quota:-29 range:-10 rate:-14 reache:-30 read:-14 reauth:9 receiv:-9 refres:32
        region:15 reply:-7 reques:-9 requir:9 reset:-9 resour:-11 respon:-27 restri:7 retrie:14
        retryi:-8 return:-11 review:9 role:8 run:10 runnin:-11 satisf:9 schema:-11 sdk:13 se:-7
        search:7 second:-8 secret:17 securi:26 select:-8 sendin:-10 sensit:-7 sent:10 serve:11
        server:-7 servic:15 set:18 settin:24 shortl:-7 sign:20 signed:20 socket:-7 someth:-9
        specif:26 ssl:-8 standi:-8 start:-10 subscr:-12 such:-8 suppor:15 sure:-8 suspen:23
        syntax:-9 system:-7 team:-12 tempor:7 termin:-10 text:-11 timed:-15 timeou:-12 title:7
        token:52 tokens:-17 too:-18 tool:-16 tools:-7 top:-8 traffi:19 tried:-9 try:-10 tunnel:9
        unauth:76 undefi:-7 unexpe:-17 unknow:-22 unsupp:11 update:14 upgrad:-12 upstre:12
        usage:-23 use:35 used:20 user:44 users:-7 valid:25 value:-17 var:8 variab:17 verbin:-8
        verifi:30 verify:9 versio:-14 vertex:15 virtua:16 wait:-9 websit:14 within:12 い:7 く:14
        さ:10 だ:14 ま:-8 ス:-7 ト:-9 ロ:9 上:-9 不:9 务:10 可:-8 后:-7 在:10 失:23 已:10 应:7
        当:-8 您:13 接:-10 效:16 数:-7 无:18 时:-9 服:10 期:12 权:20 求:-9 用:-7 的:12 稍:-8 证:19
        败:11 超:-10 过:7 重:8 错:-7 额:-11
    """,
    ErrorType.BUDGET: """
        400:12 402:50 403:26 404:-8 413:-7 429:63 498:-7 500:9 503:-16 524:-7 access:16 accoun:41
        add:20 additi:8 afford:9 after:-11 ak:8 alloca:16 allowa:23 allowe:-12 am:10 answer:-7
        apista:-15 argume:-8 arrear:18 auth:-10 authen:-10 automa:10 availa:12 balanc:93 base:-8
        before:8 billin:69 blocke:-12 body:-27 budget:40 call:14 callin:9 cannot:-8 capaci:13
        charac:-7 chat:12 check:-17 claude:-10 cloud:-8 codewh:7 comple:-11 concur:-20 config:-8
        connec:-16 consid:-8 consum:17 contac:7 contai:-7 conten:-14 contex:-12 contin:16
        conver:-10 cost:30 countr:7 creden:-7 credit:88 curl:-7 curren:12 cycle:7 daily:51 data:-7
        day:64 de:-13 deadli:-8 deepse:8 demand:-7 denied:15 der:-8 detail:-11 die:-11 discon:-10
        down:-9 el:-7 email:-7 enable:18 ended:9 engine:-14 enough:41 errno:-10 errors:8 es:-9
        exceed:19 exhaus:26 exist:-7 expect:-11 failed:-21 fetch:-9 fewer:9 find:-9 flagge:-7
        flash:10 forbid:-9 found:-19 free:32 functi:-9 funds:12 gatewa:-13 gemini:10 genera:-9
        git:8 go:18 good:18 google:7 got:-7 high:-9 higher:8 hit:10 host:-9 hour:13 how:-18 id:14
        includ:9 increa:-21 input:-16 insuff:69 invali:-17 invoke:7 ist:28 java:-7 keep:15 last:-11
        le:-7 left:17 length:-7 limit:36 list:-7 load:-11 login:-9 longer:-7 make:13 manage:-8
        many:12 max:18 memory:-11 messag:17 method:20 min:-10 minima:11 minute:-27 missin:-12
        mistra:-7 mode:15 model:-12 moment:-7 month:40 monthl:51 more:22 msg:-10 must:-17 need:9
        networ:-7 neuron:9 next:8 no:-16 node:-7 now:7 object:-10 open:10 openro:-13 organi:-13
        output:-9 overlo:-8 packag:13 paid:21 parame:-7 parse:-9 paymen:22 plan:26 pm:26 policy:-10
        pre:14 premiu:23 pro:9 proces:-8 proj:7 projec:21 prompt:-14 protoc:-8 provid:-16
        provis:-10 purcha:19 quota:93 rate:9 reache:49 read:-9 reason:-14 rechar:9 recurs:-17
        redact:11 reduce:-7 regain:13 regist:8 reject:-7 renew:12 replen:8 requir:31 reset:24
        resets:32 resour:-12 respon:-29 retrie:-10 retry:-49 return:-12 rpm:-7 run:22 runtim:-12
        safety:-7 second:-9 sendin:-8 sent:-11 server:-23 sessio:-7 settin:-9 size:-10 slow:-8
        someth:-8 spend:23 src:7 standi:18 start:-15 stop:-9 stream:-10 submit:-7 subscr:46
        suppor:-18 sure:18 switch:14 system:-8 team:13 tempor:-13 termin:-14 test:-11 thinki:10
        thrott:-10 tier:8 timed:-10 timeou:-14 today:31 tomorr:12 tool:-11 top:19 tpd:18 tpm:-17
        trial:18 try:-9 trying:8 unable:-11 undefi:-8 unexpe:-15 unsupp:-10 upgrad:33 upstre:-10
        url:-9 usage:76 used:31 users:-7 using:15 valid:-9 value:-15 verify:-10 versio:-11
        vertex:-7 virtua:-9 visit:10 wait:19 weekly:17 within:-8 withou:-14 worksp:-7 wrong:-9
        yet:7 い:9 し:8 て:9 で:-7 ス:-7 ッ:8 ト:-8 上:13 不:11 余:24 值:22 充:22 入:-7 再:-7 到:7
        前:-7 务:-8 发:-8 在:-8 大:7 已:17 应:-8 度:13 户:18 接:-7 日:25 服:-10 次:12 求:-12 流:7
        用:40 系:-8 该:-7 误:14 账:8 费:15 足:28 量:13 错:14 限:7 额:40 高:10
    """,
    ErrorType.CONTENT_FILTER: """
        400:24 403:18 429:-9 accept:12 access:-10 api:-10 appear:18 assist:10 bad:-9 base:8
        becaus:23 bio:17 blocke:54 body:-8 but:12 candid:9 cannot:-9 chat:16 claude:7 config:14
        connec:-11 consid:10 contai:35 conten:63 conver:8 data:12 define:16 denied:7 detect:18
        due:16 edit:7 esc:7 exceed:-13 exists:10 fetch:-8 filter:50 find:14 finish:11 flagge:58
        format:-7 found:-9 functi:-7 genera:-17 grok:9 guidel:15 high:9 http:-7 incomp:9 inform:18
        input:34 intern:-12 limit:-12 machin:8 manage:7 max:-7 messag:13 mistra:23 modera:26
        modify:9 more:11 must:-18 new:27 no:-22 object:8 occurr:-10 organi:-7 output:21 permis:8
        policy:57 possib:11 potent:16 press:7 proces:-10 prompt:31 read:-8 reason:11 receiv:-7
        reject:31 reply:14 resp:8 respon:37 result:30 risk:34 safety:62 see:11 sensit:69 server:-17
        sorry:15 stream:-7 suppor:-9 system:18 team:9 tokens:-8 too:-10 tool:-7 trigge:11 try:21
        unable:7 unexpe:-12 unsupp:-18 url:-9 usage:31 use:9 value:-7 violat:51 wrong:-8 し:9 た:11
        は:7 ま:7 れ:7 エ:15 ク:15 コ:17 ス:14 ッ:17 ト:13 リ:14 ロ:17 ン:15 ー:13 不:15 免:8 入:19
        内:21 到:8 包:21 发:12 可:19 当:11 您:7 或:8 数:10 检:7 系:8 能:21
    """,
    ErrorType.CONTEXT_OVERFLOW: """
        400:40 401:-7 402:-7 403:-9 413:56 429:-20 503:-9 accept:19 access:-11 accoun:-14 after:-8
        again:-10 agent:-8 ai:-16 algo:20 allowe:-7 api:-29 argume:-14 assist:13 bad:14 blocke:-9
        body:20 budget:-13 cache:22 call:-8 capaci:-8 check:-11 claude:-21 client:-15 comple:-7
        connec:-8 conten:-14 contex:80 contin:22 conver:24 cost:-9 count:15 credit:-7 curren:-14
        daily:-9 data:-7 day:-8 de:-9 deadli:-25 detail:-14 die:19 due:-9 empty:-9 end:-7 endpoi:-9
        entity:9 es:14 exceed:35 failed:-17 find:20 found:-21 free:13 functi:-7 gatewa:-7
        genera:-18 given:15 got:19 handle:-8 header:-7 howeve:15 id:-8 input:55 inputs:15 invoke:9
        ist:14 json:-9 key:-11 kv:26 la:20 lang:25 large:38 later:-8 least:18 length:46 limit:26
        llm:-12 long:49 longer:32 many:-15 max:17 maximu:9 messag:12 minute:-11 model:15 models:-7
        msg:8 must:20 new:18 no:-16 object:12 occurr:-15 openai:9 operat:-12 org:10 output:-21
        param:10 parame:7 proces:-18 prompt:37 provid:-13 quota:-14 range:16 rate:-20 read:-8
        reason:-9 recurs:-13 reduce:15 requir:-17 resour:-12 respon:-15 retry:-12 runnin:-9
        sendin:-10 sensit:-12 server:-16 should:17 size:40 sorry:-7 start:21 state:10 stream:-23
        suppor:-17 system:-7 termin:-8 thread:18 thrott:-8 timeou:-9 token:37 tokens:63 too:59
        tools:-7 tpm:12 try:8 unable:-9 unexpe:-10 unknow:-10 upstre:-7 url:-9 usage:-11 use:-10
        used:-11 user:-7 valida:11 value:-16 versio:-7 wait:-10 window:41 worksp:-9 い:-7 が:16
        し:-7 す:17 て:-7 ま:14 上:10 不:-9 入:20 出:13 制:12 型:9 大:13 度:10 开:12 模:9 超:24
        限:7
    """,
    ErrorType.INTERNAL: """
        400:-16 429:-8 access:12 agent:-7 ai:-10 args:10 argume:64 array:15 attemp:21 avante:7
        body:-7 budget:10 but:-8 callba:10 called:17 cannot:22 charac:43 chat:8 choice:45 closed:23
        config:39 connec:-9 contai:7 conten:43 create:12 curl:7 data:16 define:13 direct:15
        discon:-7 empty:25 errno:18 event:24 exceed:15 expect:22 file:26 filter:11 format:10
        functi:31 genera:23 given:15 got:31 having:16 histor:29 id:-8 index:33 intern:41 invali:-9
        json:-7 key:53 known:16 later:12 limit:29 list:32 llm:34 loop:24 lua:7 make:16 many:19
        maximu:30 method:8 must:35 my:23 new:9 nil:25 no:22 number:9 object:50 occurr:7 ollama:16
        one:11 open:-7 openai:-7 option:12 org:10 packag:10 proces:7 proper:30 provid:-13 range:33
        rate:29 reache:9 read:35 readin:27 receiv:-8 recurs:56 reques:-16 respon:15 runtim:22
        server:-15 sessio:10 start:7 stop:17 stream:23 such:14 text:-8 timeou:7 too:16 uncaug:15
        undefi:27 unexpe:12 value:51 withou:32 wrong:24
    """,
    ErrorType.INVALID_REQUEST: """
        400:62 401:-14 402:-7 403:-23 404:-18 405:16 422:46 429:-22 500:18 502:-11 503:-9 524:-7
        about:-10 accept:8 access:-23 accoun:-21 action:-10 adjust:11 again:-8 ai:16 algo:-16
        allowe:28 alread:22 altern:14 argume:31 array:15 assist:14 authen:-17 auto:15 availa:-12
        aws:12 azure:-11 bad:35 balanc:-11 becaus:-14 before:-9 block:10 blocke:-19 blocks:18
        body:43 call:24 callin:22 calls:7 cannot:15 capaci:-7 capier:-11 case:10 cause:11 certif:-9
        charac:-13 check:-8 closed:-8 cody:-7 column:15 comes:15 comman:-8 commun:18 comple:-20
        config:-11 connec:-25 consol:9 contac:-8 conten:15 core:8 count:-7 countr:-23 creden:-12
        curl:-11 curren:-20 custom:20 data:-21 de:-10 decode:-7 demand:-10 demo:19 denied:-10
        detail:9 discon:-8 docume:9 downlo:11 due:-19 during:-8 each:9 edit:7 elemen:15 empty:22
        enable:-10 engine:-12 eof:-11 errno:-8 errors:10 es:-7 event:10 every:8 exceed:-22
        exist:-13 exit:-10 exited:-7 expect:7 expire:-9 extra:17 failur:-9 fetch:15 field:25
        filter:-10 finish:-13 flash:7 follow:21 forbid:7 formed:31 found:18 free:-9 functi:34
        gatewa:-14 given:-15 go:-9 google:7 having:11 header:11 high:-10 histor:-16 host:-8
        howeve:-8 http:11 identi:-7 ids:7 image:24 images:24 immedi:11 improp:31 infere:11
        inform:-10 input:11 inputs:9 insuff:-13 intera:12 intern:8 invali:27 invoca:7 invoke:-9
        ist:-7 json:15 key:-23 kiro:17 known:-7 latest:10 least:-8 length:-16 level:8 limit:-15
        load:-10 locati:-14 logged:14 long:-15 longer:-12 loop:-7 make:-7 malfor:-11 many:-10
        match:11 max:10 maximu:8 memory:-7 messag:31 method:46 metric:15 mini:8 minima:-7 missin:25
        model:11 must:39 new:-11 no:-8 non:20 now:11 number:11 nvidia:-12 occurr:12 only:11
        openco:10 openro:8 operat:-10 option:13 organi:-10 output:10 overlo:-11 param:30 parame:59
        params:34 parse:30 parsin:14 pass:16 passed:33 permis:-10 permit:15 plan:-7 policy:-10
        port:13 precon:-14 pro:-8 proces:-20 projec:-7 prompt:22 proper:28 provid:21 quota:-10
        raised:12 rate:-9 reache:-14 readin:-7 reason:29 redact:18 reduce:8 refres:-19 region:-9
        reject:32 remote:-8 req:-7 reques:12 requir:41 reset:-16 resour:18 respon:-29 retry:-10
        retrya:8 return:11 right:11 risk:-13 runnin:-9 runtim:-7 safety:-15 schema:24 scope:7
        search:11 sendin:-17 sensit:-17 server:9 servic:15 sessio:17 set:17 should:7 single:7
        size:15 someth:-8 sonnet:-9 source:-9 specif:13 start:-11 stoppe:9 string:34 submit:11
        suppli:10 suppor:57 syntax:18 temper:35 termin:-11 text:21 think:14 thinki:25 throug:-9
        tier:-8 timed:-13 timeou:-9 tls:-7 token:-30 too:-19 tool:15 tools:36 toolu:10 top:11
        transp:-9 troubl:12 trying:23 turn:11 unable:-19 unauth:-7 unavai:19 uncaug:-8 undefi:-9
        under:11 unhand:12 unknow:-8 unsupp:38 update:11 url:31 usage:-10 used:-9 user:12 using:18
        usuall:13 utf:-8 valid:-22 valida:15 value:23 verifi:-13 violat:-7 were:12 window:7
        withou:8 wrong:-10 xx:16 不:-10 型:-8 模:-8 的:-8 误:7 超:-17
    """,
    ErrorType.MODEL_NOT_FOUND: """
        400:38 401:-11 402:-11 404:114 429:-26 500:-13 502:-7 503:-8 abc:21 about:13 access:37
        accoun:16 additi:-10 after:-13 ai:-9 allowe:25 apical:-7 apierr:8 argume:-10 arn:16
        assist:-11 attemp:-9 auth:-10 author:8 availa:24 bad:-24 base:12 bin:-12 blocke:-10 body:-7
        but:-8 call:-12 cannot:-25 capaci:-15 capier:19 case:10 certif:-8 chat:10 claude:10
        client:-15 com:-8 comman:-13 connec:-16 conten:-16 contex:-10 contin:-7 conver:12 cooldo:-7
        core:12 countr:-7 crashe:-9 creden:-11 credit:-7 data:-9 de:-11 defaul:-8 demand:30
        demo:-14 deploy:29 detail:12 dev:16 docume:7 due:-8 during:-9 el:13 enable:19 encoun:-10
        end:7 endpoi:21 enough:-10 eof:-7 err:-8 errno:-9 event:-8 exceed:-29 exhaus:-12 exist:40
        existe:37 exit:-12 expect:-11 failur:-8 fetch:-11 field:8 file:-13 flash:7 follow:-10
        foo:33 forbid:9 format:-7 found:61 free:-17 functi:-21 gated:9 gatewa:13 gemini:-9
        genera:-9 global:8 go:-13 gpt:30 having:-9 http:-9 huggin:12 id:17 identi:15 image:-15
        images:-24 inform:-8 input:-30 insuff:-18 intera:-10 intern:-13 invali:16 invoca:13
        invoke:-10 issue:-8 java:-7 json:-9 keep:-9 key:23 kimi:8 last:8 later:-9 le:8 licens:12
        life:12 limit:-30 litell:-9 load:-21 loadin:-28 longer:11 match:10 max:-10 maximu:-10
        mean:10 memory:-8 messag:-12 method:-21 minute:9 missin:-14 mistra:-10 model:84 models:27
        must:-14 need:11 no:11 non:9 nova:8 nvim:-7 object:-9 openai:9 openco:-9 org:7 output:-10
        overlo:-8 page:15 parame:-17 parse:-8 pas:9 pass:-15 passed:-14 path:-8 perfor:-7 plan:19
        post:-11 pro:12 proces:-12 produc:-9 profil:17 prompt:-23 provid:19 query:-9 quota:-17
        rate:-11 read:-11 ready:-15 reason:-14 receiv:-11 redact:-16 reject:-10 req:-7 reques:8
        requir:-21 reset:-9 respon:-33 result:-7 retry:10 return:-17 role:-9 route:7 runnin:-16
        second:-13 select:18 server:-28 servic:-22 set:-10 sonnet:7 sorry:7 specif:-29 start:-7
        stoppe:-8 stream:-22 studio:-9 submit:10 subscr:-12 such:13 suppor:28 system:-7 team:10
        temper:-9 tempor:-7 termin:-10 text:-9 thread:-9 throug:21 thus:10 time:-7 timed:-13
        timeou:-7 token:-20 tokens:-24 too:-20 tool:-7 top:-11 traffi:-7 tried:9 trying:-16 turbo:9
        unable:-7 undefi:-7 under:7 unexpe:-15 unhand:-7 unknow:12 unsupp:-18 upstre:-16 url:-8
        usage:-10 use:18 user:-14 users:12 valida:32 value:-8 verify:10 vertex:-7 view:16 wait:8
        window:-12 within:8 withou:-13 worksp:9 不:11 在:17 型:19 存:20 开:10 或:10 模:19 用:-8
        的:-8 码:7 试:-7
    """,
    ErrorType.NETWORK: """
        400:-29 401:-15 403:-23 404:-16 407:-7 422:-9 429:-36 443:-13 500:-10 502:-22 503:-18
        524:-8 529:-11 aborte:31 access:12 accoun:-16 after:-7 again:13 agent:-18 agents:10 ai:-9
        allowe:-8 allows:-10 amazon:12 anthro:12 api:13 apicon:37 argume:-11 assist:-10 authen:-14
        axios:13 bad:-24 becaus:-16 before:-23 body:18 broken:18 browse:-7 buildi:10 but:-8
        bytes:21 call:-14 called:-11 callin:-7 cannot:12 capaci:-7 caused:11 cert:15 certif:51
        chain:13 charac:-7 chat:-8 check:16 chunke:9 client:30 close:43 closed:36 column:9 com:17
        commun:8 comple:28 conexi:27 config:-15 connec:84 connex:35 contai:-17 conten:-29
        contex:-10 contin:-8 conver:-19 creden:-9 credit:-9 curl:38 curren:-10 custom:9 da:7
        data:14 de:-9 decodi:10 denied:-15 deploy:-9 detail:-38 discon:47 dispat:15 down:-7
        droppe:12 during:11 eai:23 econnr:42 el:10 encodi:21 end:22 ended:16 engine:-8 enoent:-16
        enough:9 eof:53 err:28 errno:38 es:9 establ:18 etimed:-34 exceed:-25 execut:-9 exhaus:-9
        exit:-17 exited:-19 failed:27 failur:19 fetch:22 fetchi:7 filter:-9 forbid:-16 format:-8
        found:-27 free:-10 functi:-14 gatewa:-17 gemini:9 genera:-9 get:10 getadd:27 got:-7
        handle:-7 hat:-8 host:51 http:27 hyper:9 iam:-14 incomp:12 infere:-11 insuff:-9 intern:8
        interr:16 invali:-15 io:15 issuer:22 java:16 json:-11 key:-21 known:17 konnte:22 later:-7
        latest:-13 le:-19 length:11 limit:-23 line:-8 list:-8 llama:-7 llm:10 load:18 local:11
        lookup:15 loop:-9 lost:27 many:-8 match:-9 maximu:-8 mcp:-25 memory:-9 messag:-8 method:7
        model:-27 moment:-12 msg:-17 must:-12 net:23 networ:51 new:-10 no:8 non:-7 now:7 npx:-10
        object:-9 occurr:-9 off:16 open:-11 operat:-29 option:-16 organi:-7 os:9 overlo:-12
        param:-12 parame:-7 parse:-26 parsin:-10 pas:-15 pass:8 path:23 payloa:13 peer:18
        permis:-12 persis:10 pkix:10 port:9 post:41 predic:-12 premat:26 proble:19 proces:-28
        projec:-9 proper:-26 protoc:30 provid:-24 proxy:29 quota:-10 ran:11 rate:-12 reache:-9
        read:44 readin:-12 reason:12 receiv:31 recove:11 refuse:10 remote:26 reply:17 report:9
        reques:-13 requir:-18 reset:11 resolu:15 resolv:16 resour:9 respon:17 result:9 retrie:-11
        return:-18 right:8 runtim:-12 satisf:10 se:29 see:14 select:12 self:14 sendin:60 sent:22
        servic:14 signed:14 socket:36 solici:-8 someth:-8 sorry:-12 spawn:-17 specif:-12 ssl:52
        start:-11 stream:39 string:-8 such:8 system:-8 talkin:11 target:12 task:-7 tcp:11 termin:32
        test:23 text:-14 think:10 time:-19 timed:-34 timeou:-40 tls:38 token:-16 tokens:-31 too:-20
        total:13 transf:13 transi:7 troubl:9 try:-8 unable:17 unauth:-19 unavai:-23 unexpe:19
        unknow:-7 url:21 urllib:7 use:-12 user:-10 utf:-7 util:7 valida:-13 value:-19 verbin:22
        verify:21 versio:9 werden:22 win:8 window:-8 withou:7 write:39 wrong:-10 い:-13 が:-11
        く:-7 た:8 だ:-7 て:-7 で:18 に:13 の:21 は:13 れ:9 ス:9 ト:9 ホ:16 ー:8 上:-7 不:9 主:18
        了:9 再:-8 可:-8 在:-11 失:-9 常:15 度:-8 异:15 或:-8 拒:8 接:39 无:8 时:-12 机:23 求:-9
        法:15 用:-13 的:15 続:18 络:18 网:18 败:-8 超:-9 连:23 道:8 重:14 限:-8
    """,
    ErrorType.PROTOCOL_ERROR: """
        400:-9 404:-7 429:-9 500:-26 access:-7 after:-7 again:-11 agent:-8 ai:34 argume:-11
        assist:8 attemp:-13 availa:-7 before:-9 but:18 call:39 callba:7 char:19 charac:20 chat:-10
        chatgp:8 client:14 column:9 connec:-10 contai:23 curl:-7 data:16 decode:12 detail:-13
        empty:26 end:22 ended:-7 exceed:14 expect:34 fetch:33 field:8 finish:16 foo:11 format:25
        found:36 functi:11 gemini:13 genera:18 got:-8 header:-7 http:14 id:-12 intern:-12 invali:47
        io:7 issue:8 json:61 jsonde:19 key:-12 langua:12 limit:26 line:55 llama:19 llm:9 longer:9
        malfor:32 many:-8 match:13 method:-7 model:-9 must:-12 object:-14 occurr:-12 openai:-9
        operat:-8 output:24 overlo:-8 param:-8 parse:67 parser:13 positi:27 prompt:-7 protoc:45
        provid:28 readin:8 reason:12 remote:12 requir:-7 respon:49 return:16 role:22 runtim:12
        schema:10 select:-7 servic:-10 start:7 stream:9 text:25 tls:-9 token:16 tokens:-7 too:-11
        tool:34 transp:12 try:-12 unexpe:16 unhand:23 unknow:-7 unsupp:26 upstre:-8 use:-7 utf:27
        valid:43 valida:14 value:49 versio:35 vertex:23 wrong:-10
    """,
    ErrorType.PROVIDER_UNAVAILABLE: """
        400:-22 401:-8 402:-8 403:-25 404:-12 424:23 429:18 443:7 498:16 500:78 502:82 503:96
        504:-27 520:39 529:38 about:8 access:-28 action:-11 add:-11 additi:20 addres:22 again:10
        agent:-23 ai:18 allowe:-17 alread:11 apical:13 apista:9 app:-10 argume:-16 assist:-17
        auth:-11 authen:-12 availa:40 aws:-9 azure:9 backen:9 bad:27 balanc:-16 batch:22 bb:12
        bd:13 becaus:11 before:30 billin:-9 blocke:-19 body:-12 browse:-8 busy:38 but:-10 call:-22
        candid:15 cannot:-8 capaci:54 cc:11 center:13 certif:-15 channe:13 charac:-7 chat:-10
        claude:-16 close:-7 closed:-14 codex:-7 comman:-12 commun:-7 comple:-8 concur:-10 config:-7
        connex:-7 consol:-13 contai:-19 conten:-19 contex:-31 contin:-13 conver:-8 count:14
        crashe:21 create:-12 creden:-16 credit:-9 curl:-19 curren:25 data:8 de:-17 deadli:-7
        decode:11 decrea:9 deep:11 denied:-14 deploy:17 der:8 detail:22 die:-8 down:-7 droppe:-16
        due:19 el:21 empty:-20 enable:-19 encoun:29 end:-10 ended:18 endpoi:-18 engine:38
        enoent:-10 enough:-7 errno:-14 errors:13 es:-9 establ:-7 every:15 exhaus:-22 exist:-12
        existe:-12 exit:15 exited:-17 experi:23 failed:15 failur:9 fallba:13 fetch:-27 field:-9
        file:-14 filter:-14 find:-13 first:-8 flash:-7 foo:-11 forbid:-9 formed:-8 found:-30
        free:-15 functi:10 gatewa:13 gemini:-13 genera:-9 get:9 gib:10 go:-7 google:-7 handle:21
        header:43 health:13 help:11 high:26 hit:-13 host:-11 id:15 improp:-8 incorr:-11 increa:-7
        infere:28 inform:15 input:-7 invoca:-11 issue:7 itself:10 java:-18 json:-7 key:-18 known:-8
        kv:-10 la:-7 langua:-11 last:7 later:28 latest:13 le:31 length:-7 limite:-12 limits:-8
        line:-8 list:-9 litell:16 llama:24 load:8 loadin:53 login:-7 long:-13 longer:-14 loop:12
        malfor:-7 manage:10 match:-7 max:-7 mcp:-8 memory:31 messag:-25 mini:-12 missin:-7
        mistra:-12 model:44 models:15 moment:24 more:-12 must:-17 net:-11 networ:-17 new:-8 nil:-8
        no:15 now:14 npx:-7 nvidia:8 object:-9 occurr:21 off:-11 online:15 oops:-9 open:-8
        openai:-14 operat:-9 org:-9 organi:-12 overlo:87 param:9 parame:-14 parse:-14 parsin:8
        pass:-11 permis:-21 persis:8 plan:-27 policy:-12 port:-7 post:-17 predic:35 preven:-7
        proces:50 produc:18 projec:-10 proper:-7 protoc:-17 provid:25 query:-9 queue:12 quota:-30
        rate:-15 reach:21 reache:-17 read:-19 ready:11 reason:-14 reconn:7 refres:-9 refuse:10
        reject:-15 repeat:16 report:16 req:16 requir:-15 reset:31 resolv:-8 resour:15 restar:14
        result:-10 retrie:21 retry:21 retryi:7 return:17 review:-7 right:15 run:-9 runner:35
        runnin:20 runtim:32 safety:-7 se:-7 second:12 seek:11 select:10 sendin:-19 serve:12
        server:42 servic:27 sessio:-12 settin:-14 shortl:17 side:11 sigkil:-8 signal:-11 signed:-9
        slot:11 socket:-7 someth:-7 sonnet:7 spawn:-12 ssl:-7 stoppe:-9 studio:20 such:-12
        suppor:-31 system:8 task:-10 tempor:36 thrott:-11 throug:9 tier:18 timed:-7 times:8
        title:15 tls:-8 token:-21 too:-21 took:-8 tool:7 tools:-8 total:7 traffi:11 transi:14
        transp:-13 try:12 trying:-17 unable:16 unauth:-13 unavai:49 under:-10 unhand:-10 unknow:18
        unsupp:-13 upstre:40 usage:-14 use:-7 used:-12 user:-12 users:12 using:-18 utf:10
        valida:-21 value:-10 verify:-10 vertex:-10 view:-9 violat:-9 volume:8 web:12 window:-8
        within:-10 withou:12 worksp:8 wrong:-9 yet:8 い:13 が:12 す:14 た:-10 て:13 ば:8 ら:8 を:-7
        ト:-7 モ:10 ー:7 上:18 入:-8 再:18 前:14 务:13 发:-7 可:25 后:10 在:7 型:14 度:-12 当:11
        或:-7 数:-10 时:8 暂:19 服:13 查:-7 检:-7 模:15 渠:10 游:26 用:12 的:-14 码:9 稍:20 系:11
        繁:14 络:-8 网:-8 試:8 试:14 请:10 超:-13 足:-8 道:9 限:-14 频:-11 额:-8
    """,
    ErrorType.RATE_LIMIT: """
        400:-35 401:-16 402:7 403:-17 404:-12 413:-16 429:85 500:-10 502:-7 524:-7 access:-19
        accoun:-14 active:8 after:31 again:8 agent:-8 ak:-9 allows:23 answer:9 api:14 apical:-9
        apierr:11 apista:15 app:23 argume:-7 attemp:15 availa:-20 bad:-17 balanc:-8 base:9
        becaus:-7 before:8 blocke:-9 body:14 but:-7 call:-11 callin:-25 capaci:-11 check:27
        closed:-7 cloud:7 coder:10 concur:46 connec:-20 consid:17 contac:10 conten:-9 contex:-17
        cooldo:11 cost:-7 create:8 credit:-15 daily:-23 data:-8 day:-48 de:30 denied:-8 deploy:-14
        der:-7 detail:8 down:23 el:-10 empty:-7 endpoi:-9 engine:-15 errno:-7 es:30 execut:-10
        exhaus:62 exist:-8 expect:-18 expire:-8 failed:-12 fast:26 fetch:-11 find:-7 flash:-8
        forbid:-7 found:-30 get:-8 go:11 head:8 high:8 higher:13 hit:11 host:-9 hour:-10 how:18
        increa:46 infere:-8 input:-8 insuff:-19 intera:12 intern:-17 invali:-31 invoke:-7 ist:-9
        json:-8 key:-21 la:-17 large:-15 last:14 le:-9 left:7 level:16 licens:8 limit:35 limita:8
        limite:35 limiti:9 limits:27 list:-7 llm:-24 long:-11 low:9 main:7 many:32 max:12 mcp:-16
        messag:-7 metada:8 min:9 mini:13 minute:51 mistra:11 model:-10 month:-13 monthl:-20 must:-8
        networ:-8 new:-11 no:-23 now:-11 number:24 object:-7 observ:7 occurr:-21 open:8 openro:14
        operat:-10 organi:7 output:-13 over:30 overlo:-25 own:7 packag:-10 param:-11 parse:-10
        passed:-8 permis:-9 pm:-12 post:-7 proces:-20 proj:-7 projec:-9 prompt:-7 protoc:-7
        provis:13 quickl:12 quota:37 rate:73 raw:12 reache:38 read:-13 reason:-12 rechar:-7
        recurs:-9 refer:7 remain:7 reques:14 requir:-16 resets:-7 resour:18 retry:40 return:16
        right:-8 rpm:13 run:-12 runtim:-17 se:-7 search:-13 second:19 select:-10 sendin:31 sent:11
        sessio:-9 settin:8 size:-16 slow:22 solici:33 spend:-20 spendi:14 start:-9 subscr:7
        suppor:-7 tempor:-7 termin:-7 text:-9 thinki:-8 thrott:63 timed:-14 timeou:-10 today:-10
        tokens:13 tomorr:-9 too:34 tool:-19 top:7 tpd:-15 tpm:12 transi:-7 try:-7 trying:12
        unable:-17 unauth:-12 unavai:-9 undefi:-7 unexpe:-19 unknow:-11 unsupp:-8 url:-16 usage:-15
        user:-8 utc:10 valid:-7 valida:-7 value:-21 violat:-8 wait:25 weekly:-11 window:-8
        withou:-8 worksp:15 お:14 す:-8 に:-7 を:12 ト:10 ン:-7 不:-14 于:8 候:11 值:-7 充:-7 再:18
        前:8 发:14 器:-10 型:-11 大:-10 失:-10 并:17 度:14 接:-7 数:14 无:-8 日:-7 时:-9 机:-7
        模:-10 求:34 游:-7 的:7 稍:14 繁:12 被:10 请:18 败:-8 超:10 过:15 重:-10 量:-7 限:37 频:31
    """,
    ErrorType.TIMEOUT: """
        400:-24 401:-7 403:-13 408:47 429:-14 443:30 500:-8 503:-7 504:66 524:55 access:-12
        accoun:-10 addres:-12 after:30 again:-12 ai:-12 api:7 apitim:8 argume:-7 attemp:9 attent:24
        availa:-8 bad:-14 becaus:11 blocke:-9 body:-12 cancel:8 cannot:-8 client:9 close:-12
        closed:-14 comple:24 conexi:-7 connec:30 connex:10 conten:-11 contex:18 conver:-7 curren:-7
        da:15 de:34 deadli:57 der:36 detail:-7 dial:12 die:8 discon:-12 domain:9 due:15 econnr:-9
        el:9 err:11 es:-12 etimed:44 exceed:30 existe:-7 exit:7 exited:8 expect:-9 failed:-8
        fetch:48 found:-14 gatewa:18 genera:-11 git:8 hat:33 header:-13 host:22 http:11 httpco:11
        hub:8 id:-16 idle:11 input:-9 intern:-12 invali:-22 invoca:9 io:7 json:-7 key:-11 la:19
        last:-12 le:24 limit:-23 llm:-10 long:14 many:-8 max:-11 maximu:-9 mcp:-12 millis:7
        model:-15 must:-7 net:23 networ:15 new:8 next:11 nicht:11 object:-7 openai:-10 operat:26
        overlo:10 parse:-7 pas:14 permis:-8 pool:13 port:10 possib:13 primar:10 prompt:-7 protoc:-7
        provid:-19 quota:-7 rate:-12 reache:-7 read:21 reason:13 receiv:18 remote:-7 requir:-9
        reset:-17 return:-8 se:8 second:28 sent:-19 server:15 servic:-12 settin:7 socket:9 sorry:-8
        sse:8 stop:13 stream:19 suppor:-10 system:12 tcp:11 termin:36 time:59 timed:116 timeou:112
        token:-9 tokens:19 took:23 tool:-13 try:-10 unavai:-16 undefi:-7 unexpe:-23 unknow:-17
        valida:-7 verbin:14 waitin:20 win:11 within:9 お:8 ば:9 ら:9 エ:8 ク:8 ス:7 リ:8 ー:-7
        一:19 不:-10 于:13 内:10 务:11 后:14 响:16 器:8 应:24 断:7 时:44 有:13 查:7 检:7 由:14
        稍:-7 络:8 网:8 試:9 试:10 超:33 限:-9
    """,
    ErrorType.UNKNOWN: """
        400:-23 500:-7 about:22 action:15 after:7 agent:52 ai:-16 answer:19 assist:25 attemp:7
        bad:16 before:-7 body:-7 browse:35 but:15 callin:7 check:-10 closed:22 comple:17 connec:15
        consol:15 contac:10 conten:14 contex:9 conver:21 couldn:27 curl:13 data:-11 detail:35
        discon:11 due:18 during:16 engine:25 enoent:22 exceed:-11 execut:24 exit:13 failed:31
        fetch:-17 found:-8 functi:-10 genera:47 happen:33 here:22 hit:26 http:-7 info:16 invali:-14
        invoke:-7 json:12 kv:19 limit:-12 llm:14 load:20 logs:16 many:12 mcp:78 model:-19 more:-7
        nil:18 no:13 nova:7 npx:17 occurr:43 oops:46 openai:11 operat:31 output:8 post:17 proces:7
        projec:16 prompt:-8 provid:-15 query:17 questi:24 qwen:18 reason:-8 receiv:-8 refres:18
        reques:9 respon:11 retry:16 return:-8 review:20 runnin:30 search:18 see:11 server:12
        servic:-8 settin:-7 side:-9 someth:54 sorry:19 spawn:34 start:12 state:16 stoppe:22
        stream:-17 task:23 text:26 timed:10 token:-8 too:9 tool:27 tools:15 transp:13 try:22
        unable:26 undefi:45 unexpe:36 unknow:61 url:-8 use:-7 user:15 valida:-8 went:21 wrong:52
    """,
}
