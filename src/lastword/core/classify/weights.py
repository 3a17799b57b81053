"""Weights of words, written by `benchmarks/lexicon.py`: do not edit, but add samples and rerun it.

A word's beginning, a colon and its weight for the type, in tenths; below zero it speaks against it.
"""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType

TENTHS = 10
BIASES = {
    ErrorType.AGENT_CRASH: -40,
    ErrorType.AUTH: -19,
    ErrorType.BUDGET: -21,
    ErrorType.CONTENT_FILTER: -36,
    ErrorType.CONTEXT_OVERFLOW: -28,
    ErrorType.INTERNAL: -42,
    ErrorType.INVALID_REQUEST: -25,
    ErrorType.MODEL_NOT_FOUND: -26,
    ErrorType.NETWORK: -20,
    ErrorType.PROTOCOL_ERROR: -39,
    ErrorType.PROVIDER_UNAVAILABLE: -21,
    ErrorType.RATE_LIMIT: -23,
    ErrorType.TIMEOUT: -28,
    ErrorType.UNKNOWN: -40,
}
WEIGHTS = {
    ErrorType.AGENT_CRASH: """
        400:-13 acp:16 agent:51 ai:-8 api:-20 app:7 before:10 bin:34 body:-8 call:-7 cannot:25
        claude:39 code:30 codex:9 comman:38 connec:-12 curl:16 curren:18 denied:23 direct:16 down:24
        droppe:10 engine:21 enoent:40 env:10 errno:43 exceed:-9 exit:35 exited:71 failur:14 file:28
        find:22 first:20 format:24 found:18 gemini:18 genera:-9 handle:8 id:-7 index:11 intern:30
        invali:-9 java:34 js:8 lib:13 librar:33 limit:-8 llm:-8 loaded:21 loadin:11 memory:32
        messag:-20 model:-21 module:16 next:-11 no:14 node:33 not:38 npx:23 object:9 openco:41
        opt:17 option:8 oserro:26 permis:23 proces:59 provid:-10 ready:16 reques:-12 requir:25
        return:14 runnin:18 securi:-7 send:10 server:23 servic:-8 sigkil:28 signal:39 spawn:38
        start:16 stream:-9 such:15 suppor:-7 termin:7 transp:17 type:-13 unexpe:26 unsupp:19 user:-8
        usr:22
    """,
    ErrorType.AUTH: """
        'autho:7 'choic:-11 'error:15 'gpt:-11 'inval:22 'rate:-13 'x':-8 400:-10 401:97 402:-10
        403:88 404:-21 405:8 407:23 422:-13 424:-7 429:-26 500:-16 502:-8 503:-10 504:-8 524:-11
        abc:-15 accept:-10 access:51 accoun:40 action:16 addres:16 after:-16 again:10 agent:-7
        agents:12 ai:18 ak:16 allowe:9 anthro:11 api:37 apical:8 applic:20 arrear:-10 ask:8
        assist:-17 attemp:-10 auth:48 authen:81 author:11 availa:-14 aws:17 backen:10 balanc:-30
        base:-8 bearer:9 bedroc:10 being:12 billin:-29 block:10 blocke:46 body:-9 budget:-11 cache:9
        call:-11 callin:12 cannot:-9 carry:7 case:-7 certif:19 claude:-7 closed:-9 cloud:11 codewh:9
        cody:13 com:9 comple:-16 connec:-7 connex:-7 consol:14 consum:-8 contai:-13 conten:-20
        contex:-12 conver:-14 copilo:15 core:-8 correc:12 countr:28 creden:75 credit:-20 curl:-12
        curren:17 custom:-12 de:32 defaul:24 denied:22 deploy:-7 die:16 disabl:27 don't:23 due:-8
        eai:-7 el:-16 email:25 empty:-10 enable:16 endpoi:30 engine:-8 enough:-11 env:13 enviro:14
        err:-13 errno:-21 error:-10 error':-8 exceed:-15 except:7 exhaus:-21 exist:14 exit:-7
        exited:-9 expire:37 fail:7 fetch:-10 flagge:-15 flash:-8 foo:-11 forbid:43 format:-16
        found:-8 free:24 functi:-13 gatewa:15 gcloud:8 getadd:-10 good:-10 google:12 gpt:-13 high:-7
        host:-14 http:-19 httpsc:7 hub:8 i'm:-7 iam:28 id:10 includ:16 incorr:24 infere:7 info:9
        input:-28 inputs:-7 insuff:10 invali:16 invoke:16 ist:-13 java:-7 json:-16 just:14 key:53
        known:7 kv:-9 la:10 lacks:8 le:-16 librar:-7 limit:-24 list:12 litell:8 llama:-7 load:8
        locati:27 logged:15 login:37 machin:8 many:-13 maximu:-9 metada:8 method:-29 minute:-7
        missin:42 model:-44 modera:-11 moment:19 monthl:-8 more:7 msg:22 must:14 name:-12 needed:8
        net:-8 new:-8 next:8 nicht:24 none:-7 not:19 number:-7 oauth:11 object:-11 obtain:8 oops:-7
        open:10 openai:8 openco:-10 operat:25 organi:40 oserro:8 output:-12 overlo:-9 parame:-7
        params:-9 parse:-10 pas:9 pass:17 passwo:22 paymen:-13 perfor:18 permis:40 pool:7 port:-9
        precon:28 preven:15 projec:12 prompt:-17 protoc:-12 provid:29 proxy:8 quota:-26 range:-10
        rate:-12 re:11 reach:-7 reache:-27 read:-13 reauth:8 refres:29 region:12 reply:-8 reques:-7
        requir:13 reset:-9 resolv:-7 resour:-9 respon:-37 restri:7 retrie:14 retryi:-8 return:-8
        role:8 run:8 runnin:-9 satisf:7 schema:-9 sdk:14 se:-8 search:9 second:-9 secret:16
        securi:28 sendin:-8 serve:12 server:-10 servic:8 set:13 settin:23 shortl:-7 sign:18 signed:9
        size:-9 sk:8 someth:-8 sorry:-7 specif:15 ssl:-8 standi:-10 start:-9 status:24 subscr:-12
        such:-9 suppor:12 sure:-9 suspen:24 switch:7 syntax:-7 system:-7 team:-12 timed:-14
        timeou:-11 token:54 tokens:-15 too:-18 tool:-12 top:-8 traffi:14 tried:-10 true:-7 try:-7
        type:-12 unauth:84 unexpe:-16 unknow:-17 unsupp:8 update:7 upgrad:-10 upstre:9 usage:-20
        use:36 used:18 user:30 users:-7 valid:21 valida:7 value:-14 var:10 variab:14 verbin:-7
        verifi:23 versio:-13 vertex:14 virtua:18 wait:-9 websit:12 within:13 wrong:-8 く:14 さ:11 だ:14
        ま:-9 ス:-7 ト:-8 ロ:9 上:-7 不:9 务:11 可:-8 后:-7 在:9 失:25 已:12 当:-7 您:12 接:-9 效:15 数:-7 无:18 时:-7
        服:11 期:13 权:15 用:-8 的:13 稍:-8 证:19 试:-7 败:13 超:-9 过:8 错:-7 额:-11
    """,
    ErrorType.BUDGET: """
        'error:7 'insuf:13 'inval:-7 'messa:8 400:12 402:51 403:28 404:-8 413:-7 429:66 500:9
        503:-13 access:17 accoun:40 active:12 add:24 additi:7 afford:8 after:-9 ak:9 alloca:10
        allowa:15 allowe:-10 answer:-8 api:8 apical:8 apista:-14 arrear:19 authen:-9 automa:13
        availa:16 balanc:101 base:-7 before:7 billin:73 blocke:-11 body:-21 budget:43 call:17
        callin:9 cannot:-9 capaci:10 chat:12 check:-17 claude:-7 cloud:-7 code:7 comple:-11
        concur:-21 config:-12 connec:-20 consid:-8 consol:9 consum:14 conten:-14 contin:19 cost:30
        countr:7 credit:88 curren:13 cycle:7 daily:48 data:-7 day:64 de:-13 deadli:-7 deepse:7
        denied:16 der:-8 detail:-10 die:-11 discon:-8 down:-9 el:-7 email:-8 enable:20 ended:9
        engine:-9 enough:52 errno:-7 error:-19 errors:7 es:-9 exceed:24 exhaus:31 expect:-10
        failed:-19 fewer:8 find:-8 flagge:-8 flash:10 forbid:-9 found:-8 free:37 functi:-9 funds:11
        gatewa:-11 gemini:9 genera:-10 git:8 go:16 good:19 google:7 got:-7 high:-10 higher:12 hit:9
        host:-9 hour:14 how:-17 i'm:7 id:11 id':10 includ:10 increa:-20 input:-16 insuff:71 intern:7
        invali:-15 invoke:7 ist:27 java:-8 keep:17 key:7 last:-11 le:-7 left:18 length:-7 limit:43
        limits:7 load:-10 login:-7 longer:-8 make:14 many:12 max:21 memory:-10 messag:9 method:19
        min:-10 minima:9 minute:-29 missin:-13 mistra:-8 mode:13 model:-10 moment:-7 month:33
        monthl:47 more:21 must:-14 name:-7 need:9 neuron:7 newly:8 no:-13 oops:-7 open:10 openai:-9
        openro:-13 organi:-14 output:-7 overlo:-9 packag:17 paid:22 parame:-7 paymen:25 plan:23
        pm:19 policy:-11 pre:11 premiu:25 pro:10 proj:7 projec:24 prompt:-13 protoc:-7 provid:-11
        purcha:19 quota:95 rate:14 reache:58 reason:-11 rechar:14 recurs:-12 redact:13 reduce:-8
        regain:11 region:7 regist:7 reject:-7 remain:9 renew:9 replen:10 requir:31 reset:27
        resets:30 respon:-27 retrie:-10 retry:-47 return:-14 rpm:-7 run:20 runtim:-11 safety:-8
        second:-8 sendin:-7 sent:-8 server:-21 settin:-8 size:-12 slow:-8 someth:-7 spend:21 src:7
        standi:19 start:-9 stop:-7 stream:-7 studio:8 submit:-8 subscr:50 suppor:-15 sure:18
        suspen:-7 switch:17 system:-7 team:14 tempor:-15 termin:-9 test':-8 thinki:11 thrott:-9
        tier:8 timed:-10 timeou:-11 today:26 tomorr:14 tool:-8 top:22 tpd:17 tpm:-17 trial:15
        try:-12 trying:7 type:-8 unable:-11 unexpe:-14 unsupp:-10 upgrad:34 upstre:-10 url:-8
        usage:71 used:30 user:10 users:-8 using:18 value:-14 verify:-11 versio:-10 vertex:-7
        virtua:-8 visit:8 volume:7 wait:22 weekly:13 within:-8 withou:-12 wrong:-9 yet:10 you're:8
        you've:29 い:9 し:8 て:9 ス:-7 ッ:8 ト:-8 上:14 不:10 余:25 值:21 充:21 入:-8 再:-8 到:7 前:-7 务:-7 发:-8
        在:-9 大:7 已:15 度:15 户:20 接:-7 日:24 时:-7 服:-9 次:10 求:-11 流:7 源:8 用:41 系:-7 访:8 该:-7 误:12 账:8
        费:16 资:8 足:28 量:12 错:12 问:7 限:8 额:40 高:10
    """,
    ErrorType.CONTENT_FILTER: """
        400:28 403:21 429:-8 accept:12 access:-10 after:-7 appear:17 assist:12 azure:9 base:11
        becaus:23 bio:15 blocke:49 body:-7 but:11 candid:10 chat:17 claude:8 code:9 config:13
        connec:-9 consid:11 contai:29 conten:79 conver:10 data:13 define:15 denied:9 due:17
        error:-24 esc:7 exceed:-11 except:-18 exists:10 filter:57 find:14 finish:14 flagge:58 grok:9
        high:10 i'm:9 inform:17 input:35 intern:-8 invali:9 limit:-10 manage:9 messag:13 mistra:23
        model:11 modera:29 modify:11 more:10 msg:9 must:-21 new:32 no:-18 not:-22 object:14
        occurr:-7 openai:9 output:21 permis:10 policy:60 potent:11 press:7 proces:-9 prompt:27
        reason:13 receiv:-7 reject:32 reply:14 reques:7 requir:8 resp:11 respon:46 result:25 risk:16
        safety:59 see:8 sensit:61 server:-15 sorry:13 status:-7 system:16 team:8 tokens:-8 too:-9
        trigge:17 try:23 unable:7 unexpe:-10 unsupp:-14 url:-8 usage:25 use:9 violat:48 wrong:-7 し:9
        た:11 は:7 ま:7 れ:7 エ:15 ク:15 コ:17 ス:14 ッ:17 ト:13 リ:15 ロ:17 ン:15 ー:13 不:16 免:9 入:21 到:9 包:23
        可:21 当:12 您:8 或:8 数:11 检:7 系:8 能:23
    """,
    ErrorType.CONTEXT_OVERFLOW: """
        'bad:10 'code':9 'inval:-8 'max:8 'messa:9 'objec:12 'param:10 'type':8 400:42 402:-7 403:-8
        413:53 422:9 429:-21 503:-11 accept:16 access:-9 accoun:-14 after:-8 again:-9 ai:-13 algo:18
        allowe:-7 api:-22 assist:12 bad:17 balanc:-7 blocke:-8 body:12 budget:-12 cache:21 call:-8
        cannot:7 capaci:-8 charac:13 check:-9 claude:-21 client:-11 comple:-8 conten:-13 contex:70
        contin:20 conver:16 cost:-10 count:18 curren:-15 daily:-8 de:-9 deadli:-26 detail:-11 die:19
        due:-9 end:-9 entity:9 error:-23 es:15 exceed:50 except:-16 failed:-12 find:26 flagge:-7
        found:-10 free:14 functi:-7 given:17 got:8 howeve:12 input:63 inputs:17 intern:7 invali:9
        invoke:11 ist:14 json:-9 key:-11 kv:28 la:22 lang:25 large:40 later:-8 least:8 length:55
        limit:16 llm:-8 long:50 longer:26 many:-15 max:19 messag:25 model:10 model':26 msg:13
        must:17 name:-7 new:11 no:-17 none:10 not:-31 number:-9 occurr:-10 operat:-7 org:10
        output:-10 overlo:-7 param:-9 parame:10 proces:-15 prompt:42 provid:-11 queue:-7 quota:-14
        range:15 rate:-16 reache:-15 reason:-8 receiv:-9 recurs:-7 reduce:25 reques:8 requir:-17
        resour:-8 respon:-9 retry:-10 second:-7 sendin:-10 sensit:-15 server:-12 set:-7 should:16
        size:48 slot:7 sorry:-7 start:18 state:9 status:-16 stream:-17 suppor:-8 thread:13 thrott:-7
        timeou:-8 token:29 tokens:67 too:62 tpm:12 try:12 unable:-9 unknow:-8 url:-9 usage:-10
        use:-9 used:-10 user:-7 valida:18 value:-14 wait:-10 window:38 worksp:-7 い:-7 が:16 し:-7 す:17
        て:-7 ま:14 上:12 不:-9 入:20 出:13 制:11 型:8 大:12 度:10 开:12 模:8 超:25 限:7
    """,
    ErrorType.INTERNAL: """
        'choic:31 'conte:17 'max:8 'none:24 'rate:20 'x':13 400:-16 access:14 again:-8 agent:-12
        ai:-12 api:-7 argume:56 array:10 attemp:17 budget:10 called:20 can't:21 cannot:10 charac:21
        choice:9 closed:17 code:-34 config:26 connec:-13 conten:27 create:11 data:9 de:-7 define:14
        direct:13 empty:14 errno:9 error:44 event:21 exceed:7 except:-11 expect:19 failed:-21
        fetch:-14 file:26 filter:7 format:10 functi:26 genera:7 given:10 got:30 having:20 histor:17
        index:18 intern:17 key:36 known:13 list:17 llm:26 loop:14 make:14 many:14 maximu:24
        messag:-22 model:-21 must:23 nil:15 no:18 not:37 number:10 object:24 occurr:-10 ollama:14
        one:13 option:10 parame:-9 parse:-10 proper:19 provid:-18 range:18 reache:7 read:19
        readin:16 reason:-7 receiv:-9 recurs:44 reques:-24 resour:-8 return:-7 runtim:13 server:-19
        sessio:12 socket:-7 status:-10 stop:15 stream:9 such:12 suppor:-9 termin:-19 text:-7 too:11
        transp:-10 try:-7 type:24 type':23 uncaug:10 undefi:11 unexpe:9 unknow:-8 url:-7 valid:-8
        value:40 withou:35 write:-7 wrong:26
    """,
    ErrorType.INVALID_REQUEST: """
        'faile:10 'inval:10 'messa:12 'not:-7 'objec:-7 'reque:13 'tempe:17 'the:-7 'tools:8 'x:-10
        400:64 401:-17 403:-29 404:-22 405:13 422:46 429:-23 500:7 502:-13 503:-11 524:-9 about:-10
        access:-25 accoun:-24 addres:-8 adjust:9 again:-9 ai:13 algo:-14 allowe:22 alread:24
        altern:11 apical:7 argume:16 arn:-8 array:17 assist:14 authen:-16 availa:-11 bad:25
        balanc:-13 becaus:-14 before:-9 block:11 blocke:-20 blocks:18 body:36 call:36 caller:8
        callin:21 capaci:-8 capier:-7 case:7 cause:10 certif:-10 charac:-11 chatgp:-8 claude:11
        cody:-8 column:9 comes:14 comman:-9 commun:18 comple:-19 connec:-18 consol:8 contac:-7
        contai:7 conten:20 core:9 corres:7 countr:-20 creden:-13 credit:-8 curl:-7 curren:-19
        custom:21 data:-22 de:-10 demand:-10 demo:11 denied:-11 deploy:-7 discon:-7 doesn':-9
        domain:-7 downlo:10 due:-12 each:10 el:-8 empty:21 enable:-9 endpoi:-15 engine:-7 enough:-11
        eof:-8 errno:-10 error:-8 errors:10 event:8 exceed:-31 except:8 exist:-16 exists:-7 exit:-9
        exited:-8 expect:15 expire:-9 extra:14 failur:-7 false:7 fetch:10 field:26 filter:-8 find:-9
        finish:-16 flagge:-9 flash:7 follow:23 foo:-13 found:12 free:-10 functi:31 gatewa:-14
        genera:-10 given:-11 go:-7 google:-9 having:8 high:-10 histor:-12 host:-8 id:12 ids:7
        immedi:11 inform:-9 input:14 inputs:8 instea:10 insuff:-14 intera:12 intern:9 invali:26
        invoke:-13 isn't:-8 json:9 key:-22 kimi:-7 known:-11 latest:10 length:-24 level:7 limit:-14
        list:10 load:-9 loaded:-7 locati:-17 logged:13 long:-15 longer:-14 make:-8 malfor:-13
        many:-9 match:11 max:10 maximu:16 memory:-7 messag:23 method:45 metric:9 minima:-7 missin:22
        model:12 must:47 name:12 new:-10 no:12 non:16 not:25 now:8 number:18 nvidia:-12 object:15
        occurr:12 only:13 openai:-7 openro:10 operat:-9 option:12 overlo:-12 param:32 parame:72
        params:34 parse:31 parsin:10 pass:8 passed:23 permis:-11 permit:12 plan:-7 policy:-9 port:23
        precon:-16 pro:-7 proces:-16 profil:-7 projec:-8 prompt:32 proper:26 provid:18 quota:-11
        raised:12 range:13 rate:-9 reache:-14 reason:25 redact:12 refres:-8 region:-7 reject:34
        remote:-9 req:-9 reques:24 requir:38 reset:-18 resour:14 respon:-25 result:7 retry:-10
        return:17 right:8 risk:-11 rpc:-8 runnin:-7 runtim:-7 safety:-15 schema:20 search:10
        sendin:-15 sensit:-17 servic:12 sessio:14 set:28 should:7 single:8 size:11 someth:-7
        source:-9 specif:7 start:-8 status:21 stoppe:11 string:29 submit:8 such:-7 suppli:9
        suppor:48 syntax:13 talkin:7 termin:-11 test:-7 text:22 thinki:23 throug:-10 tier:-11
        timed:-13 timeou:-8 token:-28 too:-20 tool:31 tools:28 toolu:11 transi:7 troubl:9 true:10
        trying:15 turn:10 type:27 type':-7 unable:-12 unauth:-8 unavai:21 uncaug:-7 undefi:-7
        under:10 unexpe:-7 unhand:16 unknow:-15 unsupp:30 update:10 url:31 usage:-11 use:-9 used:-8
        user:23 using:15 usuall:13 utf:-7 valid:-24 valida:10 value:29 verifi:-11 were:13 withou:7
        wrong:-10 xx:17 不:-10 发:9 型:-10 时:7 查:7 模:-9 求:7 法:9 的:-7 误:8 超:-15 错:7
    """,
    ErrorType.MODEL_NOT_FOUND: """
        'foo':11 'gpt:19 'inval:11 'model:9 'not:8 'tempe:-12 'the:10 'x:16 'x':9 400:40 402:-9
        404:123 429:-24 500:-9 502:-9 503:-7 abc:19 about:10 access:29 accoun:16 additi:-8 after:-12
        allowe:22 apical:-7 argume:-8 arn:15 assist:-9 attemp:-8 auth:-9 author:10 availa:24 bad:-20
        bar:7 base:10 becaus:-7 bin:-13 blocke:-9 call:-11 cannot:-17 capaci:-15 capier:16 case:8
        chat:16 chatgp:9 claude:10 client:-10 com:-7 comman:-16 connec:-22 conten:-15 contex:-7
        contin:-7 conver:13 cooldo:-7 core:14 countr:-7 crashe:-8 creden:-8 credit:-9 curren:-9
        data:-8 de:-12 defaul:-9 demand:35 deploy:23 detail:10 dev:11 direct:-7 doesn':19 don't:-13
        due:-7 during:-8 el:21 embedd:7 enable:12 endpoi:24 enough:-16 err:-7 errno:-10 error:-18
        event:-7 exceed:-26 except:8 exhaus:-10 exist:43 exit:-10 exited:-7 expect:-7 failur:-8
        file:-9 find:-7 flash:10 follow:-12 foo:31 forbid:11 format:-10 found:59 free:-12 functi:-29
        gated:10 gatewa:18 gemini:-14 genera:-10 global:9 go:-11 gpt:33 having:-7 host:-7 id:12
        identi:16 infere:-8 input:-35 insuff:-21 intera:-11 intern:-7 invali:9 invoca:11 invoke:-8
        isn't:25 issue:-9 java:-7 json:-8 keep:-7 key:9 kimi:8 last:8 later:-9 le:14 licens:13
        life:8 limit:-26 litell:-9 llm:-7 load:-16 loadin:-19 long:-7 longer:15 max:-7 maximu:-7
        memory:-9 method:-24 minute:9 missin:-14 mistra:-10 model:84 models:29 must:-13 name:9
        need:13 no:19 not:23 nova:7 openai:17 openco:-10 org:7 output:-12 overlo:-9 page:15 param:13
        parame:-11 pas:14 pass:-13 passed:-13 perfor:-7 pick:9 plan:17 post:-9 pro:10 proces:-15
        profil:17 prompt:-21 provid:18 query:-7 quota:-17 rate:-10 read:-7 ready:-23 reason:-9
        receiv:-10 redact:-13 reject:-12 reques:14 requir:-19 reset:-8 resour:7 respon:-25 result:-7
        retry:11 return:-14 role:-10 runnin:-11 second:-15 select:16 server:-24 servic:-23 set:-10
        signed:-7 size:-7 sorry:11 specif:-18 stream:-16 submit:7 subscr:-10 such:14 suppor:22
        system:-8 target:7 throug:21 timed:-11 token:-18 tokens:-21 too:-19 tool:-7 top:-8 traffi:-9
        tried:11 trying:-14 turbo:9 type:-9 under:10 unexpe:-13 unhand:-8 unknow:25 unsupp:-17
        upstre:-10 usage:-9 use:12 user:-15 users:12 using:8 valida:25 value:-10 verify:7 versio:7
        vertex:-8 view:15 visit:8 wait:7 withou:-11 worksp:8 不:10 在:17 型:22 存:19 开:9 或:9 模:22 用:-8
        的:-7 试:-7
    """,
    ErrorType.NETWORK: """
        'api:10 'conne:7 'conte:-8 'not:13 400:-26 401:-15 403:-21 404:-17 407:-7 429:-27 443:-16
        500:-11 502:-18 503:-19 504:-7 524:-10 529:-11 aborte:21 accoun:-15 after:-8 again:14
        agent:-17 agents:7 ai:-13 aio:-7 allows:-7 amazon:9 anthro:9 apicon:30 argume:-12 attemp:-9
        authen:-13 axios:13 bad:-19 becaus:-15 before:-24 billin:-8 body:19 broken:19 browse:-7
        buildi:9 but:-9 bytes:21 call:-10 called:-14 callin:-13 can't:-10 cannot:10 capaci:-7
        cause:9 caused:7 cert:14 certif:47 chain:14 charac:-7 chat:-7 check:27 chunke:8 client:25
        close:41 closed:33 code:-38 column:8 com:14 commun:9 comple:31 conexi:28 config:-12
        connec:85 connex:34 contai:-15 conten:-27 contex:-9 contin:-8 conver:-14 creden:-12
        credit:-9 curl:46 curren:-12 data:20 de:-12 denied:-19 deploy:-8 detail:-22 discon:44
        dispat:14 down:-7 droppe:10 due:-12 during:8 eai:19 econnr:44 el:8 encodi:18 end:21 ended:19
        engine:-8 enoent:-18 enough:10 eof:46 err:32 errno:33 error:22 es:9 establ:22 etimed:-32
        exceed:-25 except:30 exhaus:-11 exit:-7 exited:-10 failed:25 failur:15 fetch:18 filter:-9
        forbid:-15 format:-15 found:-20 free:-9 functi:-10 gatewa:-15 gemini:9 genera:-9 get:11
        getadd:28 handle:-10 hat:-8 header:7 host:53 http:26 hyper:8 iam:-9 incomp:16 index:-7
        infere:-15 info:-7 insuff:-7 interr:16 invali:-16 io:16 issuer:20 java:13 json:-9 key:-21
        known:23 konnte:21 kv:-7 latest:-14 le:-20 length:10 limit:-22 list:-8 llama:-7 llm:8 load:8
        loadin:-7 local:10 lookup:14 loop:-12 lost:27 many:-9 maximu:-9 mcp:-24 memory:-10
        messag:-11 method:7 model:-23 models:-8 moment:-10 msg:-12 must:-10 name:22 net:25 networ:48
        new:-9 nil:7 not:-22 now:7 npx:-13 object:-9 observ:-8 occurr:-16 off:14 open:-8 openai:8
        operat:-32 option:-12 origin:8 os:8 oserro:-14 output:7 overlo:-14 param:-8 parame:-12
        parse:-32 parsin:-9 pas:-16 pass:9 path:23 payloa:12 peer:25 permis:-16 persis:12 pkix:9
        post:41 predic:-17 premat:21 proble:12 proces:-26 projec:-8 proper:-22 protoc:35 provid:-24
        proxy:18 quota:-10 ran:8 range:-8 rate:-12 reache:-8 read:40 readin:-12 reason:8 receiv:27
        recove:9 reject:-8 remote:31 reply:16 report:8 reques:-15 requir:-19 reset:9 resolu:11
        resolv:21 respon:23 retrie:-12 return:-21 right:8 rpc:-11 runtim:-16 safety:-7 satisf:10
        se:30 securi:8 select:13 self:13 sendin:50 sent:22 servic:19 signed:17 socket:29 solici:-7
        someth:-10 sorry:-10 spawn:-19 ssl:49 start:-12 status:-30 stream:35 string:-7 such:8
        talkin:9 target:10 task:-8 tcp:10 termin:32 test:15 test':11 text:-16 think:9 time:-19
        timed:-35 timeou:-43 tls:38 token:-17 tokens:-32 too:-21 total:12 transf:13 troubl:8 true:9
        unable:17 unauth:-23 unavai:-11 undefi:-7 unexpe:21 unknow:-8 unsupp:-8 url:19 urllib:7
        use:-9 user:-10 valida:-14 value:-21 verbin:20 verify:18 vpn:7 werden:21 write:31 wrong:-9
        い:-13 が:-11 く:-7 た:8 だ:-7 て:-7 で:18 に:13 の:21 は:13 れ:9 ス:9 ト:8 ホ:15 ー:8 不:10 主:17 了:8 再:-8
        可:-9 在:-10 失:-7 常:16 异:16 或:-8 拒:8 接:40 时:-11 机:20 求:-7 法:12 用:-12 的:16 続:18 络:17 网:17 被:7
        超:-9 连:23 道:8 重:14 限:-9
    """,
    ErrorType.PROTOCOL_ERROR: """
        'error:-7 400:-9 404:-10 429:-8 500:-19 access:-9 again:-9 agent:-8 ai:27 argume:-8 assist:9
        availa:-7 but:12 call:16 callin:-8 calls:7 can't:8 char:18 charac:13 chat:-7 client:10
        cline:7 code:-36 column:16 comple:-8 connec:-13 contai:13 data:12 decode:12 detail:-9
        empty:28 end:17 error:24 error':17 exceed:8 expect:27 fetch:22 filter:-7 finish:17 foo:15
        format:16 found:21 functi:13 gemini:16 genera:14 help:7 http:15 id:-10 input:7 intern:-19
        invali:49 issue:11 json:60 jsonde:18 key:-12 langua:11 limit:20 line:50 llama:14 longer:10
        malfor:35 many:-9 match:9 model':10 must:-11 name:16 not:23 object:-7 occurr:-14 operat:-10
        output:29 parame:-8 parse:62 parser:13 parsin:8 positi:26 prompt:-7 protoc:42 provid:17
        rate:-7 read:-8 reason:11 remote:9 reques:-7 requir:-7 resour:-8 respon:46 return:17 role:22
        rpc:9 runtim:8 schema:9 server:7 servic:-9 start:8 status:12 stream:7 suppor:-17 text:12
        tls:-10 token:16 tokens:-7 too:-12 try:-10 type:-9 unexpe:19 unhand:22 unknow:-8 unsupp:27
        upstre:-9 utf:13 valid:38 valida:18 value:49 versio:34 vertex:22
    """,
    ErrorType.PROVIDER_UNAVAILABLE: """
        'code':8 'error:8 'foo':-7 'model:11 'statu:9 'type':12 400:-27 401:-12 402:-11 403:-27
        404:-10 422:-10 424:20 429:10 500:79 502:82 503:101 504:-27 520:36 529:39 about:9 access:-23
        action:-12 add:-8 additi:19 addres:16 again:12 agent:-20 agents:-7 ai:20 aio:13 allowe:-10
        alread:8 amazon:-9 apical:12 apista:11 app:-10 argume:-17 assist:-9 auth:-13 authen:-12
        availa:39 aws:-8 b':13 backen:8 bad:19 balanc:-17 batch:25 bb:11 becaus:16 before:28
        billin:-9 blocke:-15 body:-16 browse:-8 busy:37 but:-9 call:-16 candid:14 capaci:52 cc:12
        center:12 certif:-15 charac:-7 chat:-9 claude:-18 client:-7 close:-8 closed:-14 code:13
        code':10 column:-7 comman:-10 concur:-10 connex:-7 consol:-13 contai:-18 conten:-15
        contex:-31 contin:-9 count:8 crashe:19 create:-12 creden:-16 credit:-9 curl:-12 curren:30
        custom:7 de:-19 deadli:-12 decode:11 decrea:10 deep:10 denied:-15 deploy:22 der:8 detail:8
        die:-8 droppe:-12 due:17 el:21 empty:-20 enable:-16 encoun:27 end:-8 endpoi:-15 engine:36
        enoent:-10 errno:-14 error:12 es:-9 every:15 except:-11 exhaus:-27 exist:-9 exit:16
        exited:-19 experi:18 failed:12 failur:8 fallba:12 fetch:-25 file:-13 filter:-14 find:-11
        flash:-7 foo:-7 forbid:-8 format:10 found:-22 free:-16 functi:12 gatewa:13 gemini:-12
        genera:-7 get:15 gib:8 go:-7 handle:19 header:39 health:15 help:10 high:25 host:-9 id:9
        incorr:-7 infere:33 inform:14 invali:-11 invoca:-12 ist:7 itself:12 java:-18 json:-14
        key:-15 kv:-10 la:-7 langua:-12 later:34 latest:13 le:31 length:-8 limite:-12 limits:-7
        line:-10 litell:13 llama:29 load:9 loadin:47 long:-14 longer:-9 loop:17 manage:12 max:-8
        mcp:-8 memory:34 messag:11 mini:-8 missin:-7 model:51 model':-10 models:14 moment:26
        more:-12 msg:-9 must:-16 name:-10 net:-11 networ:-16 not:-25 now:14 npx:-8 null:7 nvidia:13
        object:-7 occurr:19 off:-8 oops:-9 open:-9 openai:-8 openro:-7 operat:-8 org:-7 organi:-10
        output:-19 overlo:86 parame:-11 parse:-14 passed:8 permis:-17 persis:9 plan:-25 policy:-13
        post:-11 predic:31 premat:7 proces:55 produc:16 projec:-7 prompt:-19 protoc:-18 provid:23
        query:-9 queue:14 quota:-31 range:-7 rate:-16 reach:25 reache:-11 read:-18 readin:8 ready:27
        reason:-11 refres:-11 refuse:11 reject:-15 req:17 reques:-8 requir:-18 reset:32 resolv:-8
        resour:8 restar:14 result:-10 retrie:20 retry:21 retryi:9 return:7 right:15 rpc:17 run:-7
        runner:34 runnin:22 runtim:36 safety:-7 second:15 select:12 sendin:-16 serve:14 server:39
        servic:34 sessio:-11 settin:-9 shortl:16 side:14 sigkil:-8 signal:-10 slot:12 socket:-7
        someth:-9 spawn:-12 specif:7 status:16 stoppe:-9 stream:-10 studio:17 such:-14 suppor:-24
        system:9 task:-10 tempor:37 test:8 thinki:-7 thrott:-7 throug:8 tier:21 timed:-10 times:8
        title:16 tls:-9 token:-22 tokens:-7 too:-17 took:-8 top:-7 traffi:14 transi:14 transp:-8
        try:13 trying:-13 unable:14 unauth:-14 unavai:40 undefi:-9 under:-10 unhand:-12 unknow:12
        unsupp:-9 upstre:44 usage:-14 used:-12 user:-14 users:18 using:-18 utf:12 valida:-22
        value:-12 verify:-9 versio:-10 vertex:-9 violat:-8 waitin:-8 we're:22 web:15 within:-10
        withou:11 worksp:9 write:-7 wrong:-11 い:13 が:12 す:13 た:-10 て:13 ば:8 ら:8 を:-7 ト:-7 モ:10 ー:7
        入:-8 再:18 前:15 务:14 可:24 后:12 器:7 在:8 型:14 失:-10 度:-10 当:11 或:-8 数:-11 时:10 暂:19 服:15 查:-7
        检:-7 模:14 求:-13 渠:12 用:13 的:-14 稍:23 系:11 繁:13 络:-7 网:-7 試:8 试:17 败:-8 超:-10 足:-9 道:10 限:-12
        频:-11 额:-8
    """,
    ErrorType.RATE_LIMIT: """
        'error:-13 'insuf:-8 'messa:-13 'reque:-8 'type':-10 'x':-11 400:-37 401:-14 402:11 403:-18
        404:-10 413:-9 429:88 500:-9 502:-10 access:-13 accoun:-12 active:8 after:32 again:8
        agent:-10 aiplat:7 ak:-7 allows:20 answer:7 api:19 apierr:9 apista:18 app:18 attemp:17
        availa:-15 bad:-17 balanc:-9 becaus:-15 before:9 blocke:-10 body:12 call:-10 callin:-16
        calls:7 check:30 code:39 coder:10 comple:-7 concur:45 connec:-14 consid:15 contac:11
        conten:-7 contex:-14 contin:-8 cooldo:8 create:9 credit:-13 daily:-22 day:-47 de:33
        deploy:-11 der:-7 detail:11 detect:7 down:22 el:-9 engine:-8 error:-27 es:30 except:-7
        execut:-8 exhaus:63 exit:-8 exited:-8 expect:-13 expire:-8 failed:-16 failur:-10 fast:24
        flash:-9 forbid:-7 found:-15 free:-10 genera:8 go:12 head:7 high:10 higher:8 hit:9 host:-8
        hour:-8 how:17 id:-7 id':-8 increa:42 insuff:-14 intera:13 intern:-9 invali:-27 ist:-9
        json:-7 la:-18 large:-12 last:17 le:-11 left:7 limit:54 limita:7 limite:40 limiti:9
        limits:21 llm:-19 long:-11 low:7 main:8 many:35 max:13 mcp:-15 method:7 min:9 mini:14
        minute:47 mistra:10 model:-7 month:-10 monthl:-22 msg:-8 new:-11 no:-32 not:-38 now:-9
        number:18 observ:8 occurr:-7 open:8 openai:7 openro:17 organi:11 output:-10 over:27
        overlo:-19 packag:-12 passed:-7 permis:-7 pm:-8 policy:-7 proces:-21 proj:-7 projec:-16
        prompt:-7 protoc:-8 provid:7 quickl:12 quota:37 rate:86 reache:35 read:-9 reason:-9
        rechar:-9 refer:7 req:8 reques:15 requir:-16 resour:25 retrie:8 retry:40 return:23 right:-7
        rpm:13 run:-10 runtim:-12 se:-7 search:-11 second:15 select:-9 sendin:34 sent:13 settin:9
        shortl:7 size:-12 slow:22 solici:32 spend:-18 spendi:16 status:18 stream:9 test':7 thinki:-8
        thread:7 thrott:44 timed:-12 timeou:-13 token:7 tokens:10 tomorr:-10 too:37 tool:-17 top:8
        tpd:-15 tpm:14 try:-11 trying:18 unable:-19 unauth:-11 unavai:-11 unexpe:-14 unknow:-8
        unsupp:-7 url:-13 usage:-13 user:-8 utc:7 valida:-8 value:-15 violat:-11 wait:21 weekly:-12
        went:7 withou:-7 worksp:15 you've:-10 お:14 す:-8 に:-7 を:11 ト:10 ン:-7 不:-14 于:8 候:11 再:18 制:7
        前:8 发:16 器:-8 型:-9 大:-9 并:17 数:12 无:-7 日:-7 时:-8 机:-7 模:-9 求:27 稍:13 繁:12 被:13 访:7 请:13 超:12
        过:17 重:-9 限:40 频:31
    """,
    ErrorType.TIMEOUT: """
        'statu:7 400:-24 401:-8 403:-12 408:45 429:-15 443:34 500:-9 504:66 524:61 access:-11
        accoun:-9 addres:-10 after:34 again:-10 ai:-11 argume:-7 attemp:9 availa:-9 bad:-13
        becaus:13 blocke:-7 body:-11 cancel:7 cannot:-9 certif:-7 claude:-7 client:9 close:-11
        closed:-15 code:15 comple:25 conexi:-7 connec:36 connex:10 conten:-10 contex:17 conver:-8
        curren:-7 da:15 de:37 deadli:62 demand:-7 der:35 dial:11 die:9 discon:-12 domain:9 due:16
        econnr:-8 el:8 endpoi:8 err:9 es:-11 etimed:44 exceed:35 exhaus:-7 exit:8 exited:7
        expect:-10 failed:-10 fetch:41 found:-9 gatewa:20 genera:-10 git:9 handsh:7 hat:32
        header:-10 host:24 http:11 httpco:10 hub:9 id:-16 idle:12 input:-10 intern:-16 invali:-23
        invoca:11 io:9 json:-7 key:-11 la:21 last:-12 le:27 limit:-21 long:14 many:-8 max:-9
        maximu:-9 mcp:-8 messag:-27 millis:8 model:-16 net:23 networ:13 new:7 next:11 nicht:11
        not:-24 openai:-9 operat:28 overlo:9 param:-7 parse:-9 pas:11 permis:-9 pool:11 port:8
        possib:14 primar:11 prompt:-8 protoc:-7 provid:-17 quota:-7 rate:-11 read:22 reason:9
        receiv:21 refuse:-8 remote:-7 requir:-10 reset:-17 return:-9 rpc:7 se:7 second:28 sent:-18
        server:15 servic:-11 settin:7 socket:12 sorry:-8 status:-9 stop:12 stream:20 suppor:-7
        tcp:14 termin:29 time:56 timed:119 timeou:114 token:-9 tokens:17 took:21 tool:-9 try:-8
        type:31 unavai:-16 undefi:-7 unexpe:-21 unknow:-18 unsupp:-7 upstre:7 valida:-9 verbin:14
        waitin:23 win:12 within:9 wrong:-8 お:9 ば:9 ら:9 エ:8 ク:8 ス:7 リ:8 ー:-7 一:18 不:-9 于:14 后:14 响:15
        应:24 开:8 式:7 断:9 时:34 有:14 查:9 检:9 求:7 由:15 稍:-7 络:8 网:8 联:7 試:9 试:10 超:22 限:-8
    """,
    ErrorType.UNKNOWN: """
        'conte:14 400:-22 403:-7 500:-8 about:22 action:16 agent:38 ai:-15 answer:21 api:-8 bad:15
        before:-7 browse:30 but:15 call:7 check:-13 closed:19 code:-10 comman:9 comple:14 connec:10
        consol:12 contac:12 conten:-7 contex:8 conver:19 couldn:24 detail:33 discon:10 due:13
        during:13 enoent:18 error:28 exceed:-12 execut:21 failed:41 fetch:-14 found:-8 genera:51
        happen:31 here:23 i'm:24 info:15 intern:-14 invali:-14 invoke:-7 json:11 kv:17 limit:-10
        llm:15 load:23 logs:14 many:10 mcp:72 messag:-7 model:-22 no:14 npx:14 occurr:33 oops:47
        operat:26 output:11 proces:-11 projec:15 prompt:-7 provid:-15 query:16 questi:23 qwen:16
        read:-7 reason:-12 receiv:-9 refres:12 resour:-7 respon:9 retry:16 return:-7 runnin:14
        search:16 see:10 sendin:-7 server:16 servic:-7 settin:-9 side:-10 someth:52 sorry:16
        spawn:29 start:12 state:15 status:-20 stoppe:18 stream:-17 suppor:7 task:19 text:17 timed:7
        token:-7 tokens:-8 tool:25 tools:15 transp:11 try:21 type:-31 unable:24 undefi:35 unexpe:24
        unknow:56 url:-9 user:14 valida:-8 went:21 wrong:49
    """,
}
