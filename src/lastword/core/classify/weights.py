"""Weights of words, written by `benchmarks/lexicon.py`: add samples and rerun it, do not edit.

A word's beginning, a colon and its weight for the type, in tenths; below zero it speaks against it.
"""

from __future__ import annotations

from lastword.core.failure.taxonomy import ErrorType

TENTHS = 10
BIASES = {
    ErrorType.AGENT_CRASH: -38,
    ErrorType.AUTH: -19,
    ErrorType.BUDGET: -21,
    ErrorType.CONTENT_FILTER: -35,
    ErrorType.CONTEXT_OVERFLOW: -27,
    ErrorType.INTERNAL: -44,
    ErrorType.INVALID_REQUEST: -25,
    ErrorType.MODEL_NOT_FOUND: -26,
    ErrorType.NETWORK: -21,
    ErrorType.PROTOCOL_ERROR: -38,
    ErrorType.PROVIDER_UNAVAILABLE: -21,
    ErrorType.RATE_LIMIT: -23,
    ErrorType.TIMEOUT: -28,
    ErrorType.UNKNOWN: -42,
}
WEIGHTS = {
    ErrorType.AGENT_CRASH: """
        400:-13 403:-7 500:-7 acp:14 again:-7 agent:37 agents:7 api:-18 app:21 apr:15 assert:12
        before:8 bin:39 browse:-7 call:-9 called:11 cannot:25 claude:57 cli:7 codex:10 comman:48
        concur:9 config:-14 connec:-14 contai:14 contex:-8 core:7 curl:15 curren:18 data:-8
        define:9 denied:24 deps:12 der:26 direct:11 down:31 droppe:12 during:7 el:14 engine:16
        enoent:34 env:7 err:12 errno:34 est:14 exceed:-10 exec:33 execut:16 exit:29 exited:77
        failed:11 failur:20 fatal:12 fetch:-9 file:32 find:32 first:24 foi:12 format:10 found:30
        gemini:20 genera:-11 get:11 github:14 heap:27 host:8 http:-7 id:-7 index:7 instal:7
        instan:17 intern:22 invali:-10 io:10 java:34 js:17 lang:22 le:12 lib:11 librar:40 limit:-7
        llama:-9 llm:-11 loaded:27 loadin:11 local:14 map:20 memory:34 model:-14 module:13 my:7
        next:-12 nil:-8 no:10 node:35 npx:19 nvim:9 object:10 openai:-8 openco:41 opt:15 option:12
        org:8 oserro:10 output:7 passwo:-7 path:11 permis:24 plugin:8 pm:12 post:-9 proces:78
        provid:-13 py:17 ready:17 reques:-21 requir:22 result:7 retry:-7 return:18 runner:-8
        runnin:23 runtim:18 script:17 securi:-7 send:11 server:17 servic:-7 sigkil:22 signal:39
        spawn:36 specif:7 src:32 start:31 stderr:12 such:11 termin:8 thread:20 throw:13 time:-7
        tools:-9 transp:14 try:-7 unexpe:24 unsupp:14 unwrap:11 url:7 user:-8 usr:28 warn:17
        worksp:8 write:7 wurde:32 xc:7 zed:11 が:8 し:7 た:9 ス:11 セ:14 プ:15 ロ:15 了:14 令:10
        内:8 出:17 可:8 处:10 常:30 异:15 或:9 文:9 理:10 码:17 程:27 行:9 请:-7 部:9 가:12 되:11
        로:14 료:14 비:14 상:14 세:11 스:14 었:12 정:14
    """,
    ErrorType.AUTH: """
        400:-11 401:99 402:-11 403:79 404:-19 405:7 407:29 422:-12 424:-15 429:-25 500:-18 502:-13
        503:-9 504:-10 524:-18 529:-9 abc:-15 abgela:16 about:-7 accept:-8 access:48 accoun:44
        action:22 addres:12 after:-8 again:8 agent:-12 agents:8 agotad:-7 ai:10 ak:18 alloca:-7
        allowe:15 alread:-9 anfrag:-16 anmeld:37 api:46 apical:10 applic:17 array:-7 arrear:-9
        ask:8 assist:-21 attemp:-12 autent:41 auth:49 authen:81 author:16 availa:-7 aws:12
        balanc:-30 base:-14 bearer:11 bedroc:10 being:12 billin:-33 block:12 blocke:51 body:-12
        budget:-15 busy:-9 cache:7 call:-11 callin:13 cannot:-10 case:-7 ce:11 certif:17 charac:-9
        check:7 choice:-15 claude:-7 clave:24 closed:-12 cloud:21 clé:16 coding:11 cody:16
        comple:-20 concur:-7 config:20 connex:-9 consol:10 consum:-8 contai:-15 conten:-24
        contex:-11 conver:-14 copilo:15 core:-7 correc:10 countr:35 creden:74 credit:-22 crédit:-7
        curl:-11 curren:18 custom:-11 de:7 defaul:22 demasi:-12 denied:16 deploy:-7 der:-8 die:9
        disabl:34 discon:-7 dispon:10 domain:7 due:-9 eai:-9 el:-14 email:23 empty:-12 en:-7
        enable:13 endpoi:31 engine:-10 enough:-9 env:15 enviro:16 eof:-7 erneut:9 erreic:-8
        errno:-29 es:9 está:-8 exceed:-18 execut:-8 exhaus:-28 exist:20 exited:-8 expire:36
        expiré:8 failed:-7 fetch:-19 file:-9 flagge:-15 foi:-8 foo:-12 forbid:46 format:-17
        free:33 functi:-12 funds:-7 gatewa:27 gcloud:9 getadd:-10 go:11 good:-9 gpt:-12 ha:16
        high:-7 host:-14 http:-19 hub:7 huggin:-8 iam:26 id:14 identi:14 ihr:-8 includ:15 incorr:36
        index:-7 inicia:25 input:-17 inputs:-7 insuff:14 intern:-14 invali:28 invoke:15 inváli:12
        ip:19 java:-7 json:-22 just:16 key:41 kiro:9 known:8 konnte:-7 kv:-7 la:9 lacks:9 lang:-7
        le:-15 limit:-30 limite:-15 list:14 litell:10 load:8 locati:25 log:17 logged:21 login:42
        machin:8 many:-13 max:-10 maximu:-10 messag:-20 metada:8 method:-28 mini:-12 minute:-10
        missin:40 model:-43 modell:-7 modelo:-8 modera:-11 modèle:-10 moment:23 monthl:-10 msg:32
        must:22 my:-10 needed:9 net:-9 new:-7 next:8 no:-7 now:-7 nuevo:7 number:-8 não:-7
        oauth:12 object:-14 ollama:-7 oops:-7 open:22 openai:8 openco:-12 operat:25 organi:52
        oserro:14 output:-14 over:-8 overlo:-12 paid:-7 para:20 param:-7 params:-13 parse:-16
        pass:19 passwo:24 paymen:-13 perfor:21 permis:48 permit:-7 port:-7 pour:18 precon:27
        preven:20 projec:11 prompt:-17 proper:-7 protoc:-12 provid:17 query:7 quota:-30 range:-11
        rate:-17 reache:-30 read:-15 reauth:9 receiv:-9 reconn:14 refres:30 region:15 reply:-7
        reques:-10 requir:11 requis:-12 requêt:-16 reset:-8 resour:-10 respon:-28 restri:7
        retrie:13 retryi:-10 return:-12 review:9 role:10 router:17 run:7 runnin:-12 satisf:9
        schema:-12 schlüs:19 sdk:13 search:8 second:-9 secret:16 securi:32 sendin:-11 sent:8
        serve:10 server:-10 serveu:-11 servic:25 servid:-12 sesión:34 sessio:8 set:18 settin:25
        shortl:-7 sie:16 sign:19 signed:18 site:7 socket:-7 someth:-9 sorry:-7 space:-7 spawn:-7
        specif:26 ssl:-8 standi:-9 start:-11 subscr:-13 such:-8 suppor:14 sure:-8 suspen:24
        system:-8 team:-12 termin:-12 text:-9 thrott:-7 timed:-15 timeou:-16 token:57 tokens:-18
        too:-18 tool:-16 tools:-7 top:-9 traffi:18 transi:-7 tried:-9 trop:-9 try:-8 tu:-8
        tunnel:13 unauth:74 unexpe:-16 ungült:12 unknow:-30 unsupp:11 update:13 upgrad:-12
        upstre:14 usage:-24 use:37 used:18 user:45 users:-7 valid:25 value:-21 var:8 variab:16
        verbin:-7 vercel:7 verfüg:14 verifi:31 verify:8 versio:-14 vertex:13 veuill:11 virtua:18
        vous:30 válida:8 wait:-10 websit:14 werden:-7 were:8 within:10 write:-7 wrong:-9 wurde:-11
        zu:-9 être:10 übersc:-8 запрос:-8 модель:-8 неверн:7 недост:-10 отклон:16 ошибка:25
        подклю:-10 превыш:-10 сервер:-14 слишко:-9 あ:8 が:9 さ:8 し:-11 せ:8 だ:8 を:-8 ん:8
        イ:14 キ:20 グ:14 サ:-7 ス:-7 セ:13 タ:-8 ト:-16 リ:-8 ル:-7 レ:-9 ロ:13 上:-10 了:-11 令:9
        使:14 内:-9 再:17 出:-8 制:-10 务:10 効:19 可:-10 在:15 失:23 定:7 已:8 当:-9 录:27 您:11
        接:-12 效:17 敗:15 数:-14 新:11 无:13 日:-7 时:-9 有:16 服:11 期:13 未:9 权:26 求:-10 没:13
        無:11 登:27 稍:-12 置:9 証:24 認:28 访:10 证:19 试:-12 账:7 费:-7 超:-15 连:-7 配:8 重:9
        错:-7 问:7 限:21 额:-11 验:19 결:-8 과:-9 그:26 너:-7 도:-12 로:26 를:-9 모:-9 무:-10 부:-8
        비:-7 상:-7 서:-8 수:-10 스:-8 습:7 않:7 없:12 연:-8 용:-10 을:-10 이:8 인:24 입:-9 청:-15
        초:-11 한:12 후:-8
    """,
    ErrorType.BUDGET: """
        400:11 402:50 403:32 404:-7 413:-7 429:64 498:-7 500:11 503:-16 abgela:10 access:11
        accoun:39 add:21 additi:8 admini:11 afford:9 after:-13 agent:-7 agotad:30 alloca:11
        allowa:24 allowe:-13 am:10 answer:-7 anthro:9 apierr:-7 apista:-15 apr:7 argume:-7
        arrear:19 auth:-10 authen:-9 automa:9 availa:11 balanc:91 base:-7 before:8 billin:72
        bitte:-7 blocke:-11 body:-26 budget:40 call:12 callin:8 calls:-7 cannot:-9 capaci:14
        charac:-8 chat:11 check:-20 claude:-8 codewh:7 codex:9 comple:-12 concur:-19 config:-12
        connec:-18 consid:-7 consum:15 contac:9 conten:-15 contex:-11 contin:20 conver:-9 cooldo:7
        cost:29 creden:-8 credit:92 crédit:44 curl:-7 curren:12 cycle:7 daily:52 das:-8 day:64
        dc:-8 de:9 deadli:-8 deepse:7 demand:-7 demasi:-7 denied:20 der:-14 detail:-11 die:-17
        discon:-11 down:-9 el:-13 email:-7 empty:-7 enable:20 ended:9 engine:-14 enough:44
        erreic:14 errno:-9 errors:11 es:-8 est:-8 exceed:21 exhaus:27 exist:-8 expect:-11
        expiré:11 failed:-21 fewer:9 find:-9 flagge:-8 flash:11 foi:-7 forbid:-10 found:-18
        free:31 functi:-8 funds:16 gatewa:-13 gemini:9 genera:-9 go:15 good:19 google:7 ha:14
        high:-8 hit:10 host:-9 hour:11 how:-18 http:-7 id:12 ihr:45 includ:10 increa:-21 input:-15
        insuff:70 insufi:26 intern:-8 invali:-17 invoke:7 ist:13 java:-7 keep:13 la:-16 last:-12
        le:-11 learn:-7 left:17 length:-7 limit:37 limite:32 limiti:-7 list:-7 load:-9 login:-10
        longer:-8 límite:15 make:14 many:12 max:18 maxima:-8 memory:-11 messag:10 method:17
        min:-10 minima:10 minute:-29 missin:-12 mistra:-8 mode:12 model:-11 modèle:-7 moment:-8
        month:37 monthl:52 more:23 msg:-9 must:-16 need:7 networ:-8 newly:10 nicht:-11 no:-19
        node:-7 now:7 object:-11 open:16 openai:-7 organi:-17 output:-8 overlo:-9 packag:13 paid:19
        parame:-8 parse:-9 paymen:21 plan:23 pm:29 policy:-10 pre:14 premiu:25 pro:20 proces:-9
        proj:8 projec:21 prompt:-13 protoc:-8 provid:-9 provis:-9 purcha:21 quota:98 rate:8
        reache:50 read:-9 reason:-13 rechar:16 reconn:-7 recurs:-17 redact:8 reduce:-8 regain:13
        regist:9 reject:-8 renew:10 replen:7 requir:31 requis:-9 requêt:-8 reset:24 resets:33
        resour:-11 respon:-30 retrie:-9 retry:-50 return:-13 rpm:-8 run:23 runtim:-16 safety:-8
        saldo:26 se:11 second:-10 sendin:-8 sent:-10 server:-24 serveu:-8 servid:-11 sessio:-10
        settin:-7 sie:11 size:-11 slow:-8 solici:-15 someth:-8 spend:22 spendi:-7 standi:19
        start:-14 stop:-10 stream:-10 sua:29 subscr:45 suppor:-18 sure:18 switch:12 system:-8
        team:18 tempor:-15 termin:-9 test:-11 thinki:12 thrott:-9 tier:8 time:-7 timed:-8
        timeou:-13 today:31 tokens:7 tomorr:12 tool:-10 top:22 tpd:18 tpm:-18 traffi:-7 transp:-7
        trial:14 trop:-7 try:-9 trying:8 tu:40 unable:-10 undefi:-8 unexpe:-16 ungült:-7 unsupp:-9
        upgrad:41 upstre:-12 url:-8 usage:75 used:30 user:7 users:-7 using:19 valid:-8 value:-16
        verify:-9 versio:-11 virtua:-9 visit:9 votre:37 wait:19 weekly:13 within:-9 withou:-13
        worksp:-7 wrong:-8 wurde:-9 yet:12 übersc:30 баланс:32 запрос:-19 исчерп:38 лимит:14
        на:33 не:-11 недост:9 ошибка:-8 превыш:-10 сервер:-9 い:12 が:-11 し:9 せ:-9 て:12
        で:-10 れ:-7 ん:-9 ア:10 エ:-9 グ:11 ス:-17 ッ:18 ト:-7 プ:13 ラ:9 リ:-7 レ:16 ー:-8 上:15
        不:15 今:18 会:10 余:23 使:7 值:20 充:20 内:-8 出:-7 利:17 前:-10 务:-8 发:-8 在:-9 型:-11
        大:7 失:-7 完:17 已:25 并:-7 应:-8 度:15 您:7 户:17 接:-7 日:32 最:8 服:-11 期:8 模:-11
        次:12 求:-15 流:8 無:8 用:39 的:7 稍:-7 系:-8 该:-10 误:12 费:24 足:35 过:9 達:15 量:11
        错:12 额:42 高:15 가:-11 간:9 그:7 너:-9 로:-7 료:9 를:18 모:11 서:-7 세:15 수:-10 시:-7
        않:-7 없:-8 에:-9 용:30 이:12 인:-9 입:-10 주:7 지:-11 청:-12 크:9 해:12 했:13
    """,
    ErrorType.CONTENT_FILTER: """
        400:21 403:17 429:-9 accept:11 access:-11 agent:-7 anfrag:13 anthro:-7 api:-15 appear:17
        assist:10 azure:8 bad:-9 base:7 becaus:22 bio:15 blocke:54 body:-8 but:13 candid:10
        cannot:-9 chat:18 check:12 client:-7 config:12 connec:-12 consid:9 contai:30 conten:63
        conver:9 data:14 de:54 define:16 denied:7 detect:15 die:47 due:14 dépass:-7 excedi:-7
        exceed:-13 exists:9 fetch:-10 filter:55 find:14 finish:13 flagge:58 foi:17 format:-7
        found:-9 functi:-8 genera:-20 grok:9 guidel:14 high:8 http:-8 incomp:8 inform:18 input:39
        inspec:22 intern:-8 invali:7 ist:-8 json:-7 la:19 limit:-12 limite:-11 límite:-11 manage:8
        max:-7 messag:12 mistra:24 modera:26 modify:9 more:12 must:-20 net:9 new:27 nicht:-12
        no:-26 object:8 occurr:-10 organi:-7 output:20 policy:61 possib:11 potent:15 proces:-12
        prompt:29 provid:-8 read:-8 reason:11 receiv:-7 reject:39 reply:14 resp:9 respon:34
        result:29 risk:31 safety:62 see:9 sensit:67 server:-18 serveu:-7 servid:-7 solici:11
        sorry:15 stream:-8 suppor:-10 system:14 team:8 tokens:-9 too:-9 trigge:19 try:21 unable:7
        unexpe:-12 unsupp:-19 url:-9 usage:29 use:8 value:-8 violat:51 wrong:-8 wurde:15 запрос:17
        отклон:34 い:11 く:-8 た:13 だ:-8 て:10 に:7 は:10 め:23 る:16 れ:19 を:11 ク:9 コ:14
        シ:15 ッ:13 ツ:16 テ:15 ブ:16 ポ:14 リ:11 ロ:13 ン:8 ー:10 不:9 个:12 了:7 作:8 信:7 停:8
        入:9 内:22 出:12 力:7 包:20 反:20 发:8 可:21 含:28 定:9 容:26 息:8 您:14 感:21 成:13 敏:21
        的:8 能:23 被:7 话:11 输:10 问:10 限:-8 내:11 답:12 되:21 부:10 세:-7 수:8 습:7 어:11 없:8
        었:9 에:14 용:10 이:15 정:15 청:11 한:9 할:12
    """,
    ErrorType.CONTEXT_OVERFLOW: """
        400:43 401:-7 402:-7 403:-10 413:55 429:-20 503:-10 above:10 accept:18 access:-12
        accoun:-14 after:-9 again:-9 agent:-9 ai:-18 algo:16 allowe:-7 anfrag:-10 anthro:-8 api:-31
        argume:-14 assist:13 bad:11 balanc:-7 blocke:-10 body:20 budget:-12 cache:20 capaci:-8
        ce:15 check:-11 claude:-21 client:-17 codex:9 comple:-8 connec:-11 conten:-15 contex:89
        contin:23 conver:23 cost:-8 count:13 credit:-7 curren:-14 daily:-10 data:-7 day:-9 de:7
        deadli:-29 demasi:21 detail:-14 die:15 due:-9 dépass:21 el:13 empty:-8 end:-7 enough:-7
        entity:10 es:29 est:14 excedi:14 exceed:32 failed:-19 fetch:-7 find:17 found:-20 free:11
        functi:-8 gatewa:-7 genera:-18 given:15 got:19 handle:-11 header:-8 host:-7 howeve:17
        http:10 id:-10 input:54 inputs:14 insuff:-7 invali:-7 invoke:9 ist:15 java:-7 json:-9
        key:-12 kv:22 la:15 lang:27 large:40 later:-8 least:18 length:46 limit:25 llm:-13 long:58
        longer:32 longue:21 many:-16 max:15 maxima:42 maximu:12 memory:-7 minute:-10 missin:-7
        model:15 models:-7 modèle:9 msg:10 must:20 networ:-7 new:17 nicht:-10 no:-18 object:10
        occurr:-16 open:-8 openai:11 operat:-14 org:11 output:-22 param:10 pour:16 proces:-19
        prompt:30 provid:-13 quota:-16 range:12 rate:-19 read:-9 reason:-10 recurs:-15 redact:7
        reduce:18 requir:-17 requêt:-9 resour:-12 respon:-17 retry:-13 runnin:-9 runtim:-7
        sendin:-11 sensit:-12 server:-18 serveu:-9 servid:-8 sessio:7 should:14 size:42 solici:-13
        sorry:-7 space:19 start:18 state:11 stream:-22 studio:-7 suppor:-18 system:-7 termin:-9
        thread:16 thrott:-8 timeou:-10 token:41 tokens:69 too:58 tools:-7 tpm:14 trop:24 try:7
        unable:-9 unexpe:-11 unknow:-10 upstre:-7 url:-10 usage:-9 use:-11 used:-13 user:-7
        valida:11 value:-19 versio:-7 wait:-10 window:39 worksp:-8 wurde:-7 zu:25 übersc:26
        лимит:-8 превыш:43 сервер:-15 слишко:44 え:13 ぎ:24 す:19 で:-7 な:7 に:-11 の:9 ま:11
        を:16 エ:-8 ス:-8 リ:-7 ン:9 上:15 下:11 不:-12 会:11 入:27 再:-10 出:7 制:9 力:16 大:15
        太:9 失:-8 容:9 对:10 已:-8 开:12 数:14 文:11 新:21 时:-8 最:15 求:-9 用:-9 的:-10 稍:-7
        话:13 超:35 输:10 过:16 量:9 長:31 长:39 限:10 가:11 과:14 내:10 너:22 대:20 도:-8 되:-12
        를:16 무:21 부:-7 수:24 스:7 어:7 었:-8 이:14 입:9 주:7 청:-9 초:14 트:8 하:-10 한:-9 해:-7
        했:10
    """,
    ErrorType.INTERNAL: """
        400:-15 429:-7 access:12 acp:14 agent:7 ai:-10 args:10 argume:63 array:13 assert:25
        attemp:21 avante:7 budget:10 but:-9 callba:10 called:15 cannot:23 charac:43 chat:7
        choice:46 closed:24 config:39 connec:-8 conten:42 create:12 curl:8 data:28 define:13
        direct:14 empty:21 errno:17 event:24 exceed:15 expect:22 failed:7 fatal:14 file:26
        filter:12 format:11 found:17 functi:31 genera:22 given:14 got:32 handle:15 having:15
        histor:25 index:34 jsonrp:10 key:54 known:16 later:12 limit:32 list:33 llm:37 loop:24 lua:7
        make:16 many:19 map:13 maximu:31 method:8 must:32 my:24 new:7 nil:25 no:23 number:9
        object:52 occurr:7 ollama:16 one:11 open:-7 openai:-7 option:12 org:9 packag:10 proces:8
        proper:30 provid:-12 range:34 rate:34 reache:9 read:35 readin:28 receiv:-7 recurs:57
        reques:-15 respon:13 runtim:21 sessio:25 start:7 stop:17 stream:27 string:14 such:13
        termin:9 text:-7 timeou:8 too:16 uncaug:14 undefi:29 unexpe:12 update:15 value:53 withou:31
        wrong:24 ошибка:12
    """,
    ErrorType.INVALID_REQUEST: """
        400:64 401:-13 402:-7 403:-23 404:-20 405:16 422:45 429:-22 500:21 502:-10 503:-9 about:-9
        access:-23 accoun:-20 acp:-8 action:-9 additi:-7 adjust:8 again:-7 ai:14 algo:-14 allowe:30
        alread:23 altern:12 anfrag:20 api:-8 apical:7 argume:33 array:16 assert:-12 assist:10
        authen:-15 auto:16 availa:-12 aws:13 axios:7 azure:-9 bad:34 balanc:-10 becaus:-14
        before:-10 blocke:-19 blocks:16 body:38 but:-8 call:26 caller:7 callin:22 cannot:14
        capaci:-8 capier:-11 case:9 cause:11 certif:-9 charac:-13 check:-10 closed:-7 codex:-7
        cody:-7 column:14 comes:15 comman:-9 commun:18 comple:-18 config:-11 connec:-26 consol:8
        contac:-8 conten:16 core:11 count:-7 countr:-25 creden:-13 curl:-12 curren:-19 cursor:12
        custom:19 data:-22 de:-20 demand:-10 demo:19 denied:-11 der:-9 des:-8 detail:8 die:-12
        discon:-8 docume:11 downlo:11 due:-16 during:-8 elemen:15 empty:24 enable:-9 ended:-8
        engine:-11 enough:-7 eof:-10 errno:-8 errors:8 event:9 every:8 exceed:-23 exist:-14 exit:-9
        exited:-8 expire:-9 extra:18 failur:-10 fetch:15 field:25 filter:-10 finish:-12 follow:19
        forbid:9 formed:30 found:19 free:-11 functi:34 gatewa:-13 given:-13 go:-9 having:12
        header:12 high:-10 histor:-12 host:-8 howeve:-8 http:9 huggin:7 identi:-8 image:26
        images:24 immedi:7 improp:30 infere:14 inform:-9 input:11 inputs:10 inspec:-7 insuff:-12
        intera:10 intern:-27 invali:29 invoca:8 invoke:-8 inváli:29 ist:-8 js:8 json:15 key:-23
        kiro:21 known:-7 la:-13 langua:-7 latest:10 le:-7 least:-11 length:-17 lib:7 limit:-17
        limite:-7 list:7 load:-10 locati:-14 logged:17 long:-16 longer:-12 loop:-7 make:-7
        malfor:-11 many:-10 map:-7 match:12 max:11 maximu:8 memory:-7 messag:56 method:45 metric:13
        mini:10 missin:26 model:10 must:40 new:-11 nicht:-10 non:21 now:11 number:10 nvidia:-12
        occurr:12 one:7 only:8 open:-8 openco:12 openro:7 operat:-9 option:15 organi:-9 origin:8
        output:12 overlo:-12 param:29 parame:66 params:34 parse:30 parsin:15 pass:14 passed:32
        permis:-10 permit:15 plan:-7 policy:-10 port:12 precon:-13 pro:-10 proces:-24 prompt:25
        proper:29 provid:19 quota:-10 raised:13 rate:-9 reache:-13 reason:28 redact:19 reduce:7
        refres:-20 region:-10 reject:32 remote:-8 reques:13 requir:42 requis:15 requêt:20
        reset:-16 resour:18 respon:-27 retry:-11 retrya:9 return:14 right:11 risk:-14 runnin:-9
        runtim:-10 safety:-15 schema:24 search:11 sendin:-18 sensit:-25 server:12 servic:14
        servid:-9 sessio:15 set:18 should:10 size:13 solici:18 someth:-8 sonnet:-8 source:-9
        specif:15 start:-11 stoppe:9 string:31 submit:11 suppli:10 suppor:59 syntax:18 temper:35
        termin:-13 text:18 think:13 thinki:21 throug:-9 tier:-7 timed:-13 timeou:-9 tls:-8
        token:-28 too:-18 tool:14 tools:37 toolu:7 transp:-8 trop:-10 troubl:13 trying:23 turn:10
        unable:-17 unavai:19 uncaug:-7 undefi:-9 under:11 ungült:26 unhand:12 unknow:-8 unsupp:37
        update:9 url:33 usage:-9 used:-7 user:9 using:18 usuall:13 utf:-7 valid:-20 valida:15
        value:23 verifi:-14 vous:-9 válida:27 were:9 withou:7 wrong:-9 wurde:-7 xx:15 übersc:-18
        запрос:25 не:-7 неверн:24 отклон:-9 превыш:-9 сервер:-10 слишко:-14 あ:11 い:-10
        が:10 く:9 さ:-8 せ:7 た:-14 て:-10 で:8 に:-7 ま:-9 り:10 ん:7 エ:9 ク:8 タ:12 ト:7 ラ:11
        リ:11 上:-7 参:23 型:-11 数:19 模:-11 正:28 求:12 用:-8 的:-9 误:17 超:-8 错:15 限:-9 과:-7
        니:9 다:9 세:-10 수:8 시:-9 않:10 에:-7 요:17 입:12 주:-7 지:8 청:26 초:-7 하:-10 했:-10
    """,
    ErrorType.MODEL_NOT_FOUND: """
        400:38 401:-11 402:-11 404:116 429:-26 500:-14 502:-7 503:-8 abc:17 about:13 access:35
        accoun:11 additi:-10 after:-12 agent:-7 ai:-11 allowe:23 anfrag:-9 api:-7 apical:-9
        apierr:8 argume:-10 arn:16 assist:-10 attemp:-10 auth:-11 author:8 availa:21 bad:-23 bar:7
        base:13 bin:-11 blocke:-9 but:-9 call:-13 cannot:-25 capaci:-16 capier:21 case:11 ce:12
        certif:-8 chat:10 claude:10 client:-15 com:-8 comman:-15 connec:-15 conten:-16 contex:-10
        contin:-8 conver:12 cooldo:-8 core:13 crashe:-9 creden:-12 credit:-9 das:7 data:-13 de:-19
        defaul:-7 demand:32 demasi:-7 demo:-13 deploy:29 der:-10 detail:11 dev:16 die:-12 direct:-7
        due:-8 during:-12 enable:21 encoun:-9 end:8 endpoi:19 enough:-9 eof:-7 err:-9 errno:-10
        este:12 está:-9 event:-8 exceed:-30 exhaus:-12 exist:45 existe:33 existi:7 exit:-11
        expect:-10 failed:-7 failur:-9 fetch:-12 field:9 file:-12 find:-7 flash:8 foi:-7 follow:-11
        foo:34 forbid:8 found:61 free:-18 functi:-23 gated:10 gatewa:12 gemini:-11 genera:-8 go:-13
        got:-7 gpt:40 handle:-7 hat:-10 having:-8 http:-11 huggin:12 id:15 identi:13 image:-15
        images:-24 inform:-8 input:-30 insuff:-18 intera:-10 intern:-14 invali:18 invoca:13
        invoke:-9 issue:-7 ist:-9 java:-7 json:-12 keep:-8 key:22 kimi:8 la:-13 last:8 later:-10
        length:-7 licens:10 life:12 limit:-30 litell:-9 load:-24 loadin:-29 log:-8 logged:-9
        long:-7 longer:13 match:11 max:-10 maximu:-9 mean:10 memory:-8 messag:-14 method:-22
        minute:8 missin:-13 mistra:-9 model:83 modell:37 modelo:56 models:28 modèle:44 must:-19
        need:12 nicht:23 no:13 non:8 nova:7 não:19 object:-9 openai:9 openco:-9 output:-12
        overlo:-8 page:19 parame:-17 params:-7 parse:-7 pas:23 pass:-14 passed:-14 perfor:-7 pick:7
        plan:21 post:-11 pro:9 proces:-12 produc:-7 profil:18 prompt:-22 provid:17 query:-9
        quota:-17 rate:-12 read:-11 ready:-15 reason:-15 receiv:-12 redact:-15 reject:-11 req:-7
        reques:9 requir:-21 reset:-8 respon:-33 retry:10 return:-17 role:-9 runnin:-16 second:-13
        select:13 sendin:-7 sequen:-7 server:-28 serveu:-9 servic:-22 servid:-12 set:-11 sonnet:8
        sorry:8 specif:-28 start:-7 stoppe:-7 stream:-20 studio:-7 submit:10 subscr:-12 such:11
        suppor:28 system:-7 team:7 temper:-8 tempor:-8 termin:-13 text:-9 thread:-10 throug:21
        thus:10 time:-7 timed:-12 timeou:-7 token:-19 tokens:-24 too:-21 top:-10 traffi:-7 tried:8
        trying:-16 turbo:7 undefi:-8 under:7 unexpe:-14 unhand:-7 unknow:12 unsupp:-16 upstre:-17
        url:-9 usage:-10 use:18 user:-13 users:14 using:7 valida:31 value:-8 verfüg:-7 verify:11
        vertex:-8 view:16 wait:8 window:-12 within:9 withou:-12 worksp:7 wurde:8 übersc:-7
        запрос:-12 модель:28 не:20 сервер:-9 か:7 く:-7 さ:8 し:-10 す:-9 せ:17 で:-8 に:-8
        れ:12 ん:17 ス:-10 デ:24 ポ:8 モ:23 ル:23 不:13 停:13 到:8 务:-8 可:-7 在:21 型:35 存:23
        定:15 度:-7 时:-8 服:-7 模:35 试:-8 该:11 请:-7 限:-8 가:-9 델:28 모:27 세:-7 습:-11 않:15
        없:8 요:-11 이:-12 입:15 재:9 지:12 하:12 했:-9
    """,
    ErrorType.NETWORK: """
        400:-29 401:-13 403:-24 404:-17 407:-11 422:-8 429:-34 443:-9 500:-15 502:-22 503:-17
        520:-7 524:-7 529:-9 aborte:32 aborti:-13 access:13 accoun:-16 after:-7 again:12 agent:-11
        agents:8 ai:-11 allowe:-8 allows:-10 amazon:12 anfrag:-10 anthro:9 api:11 apicon:45
        apierr:9 argume:-11 assist:-9 authen:-17 axios:13 bad:-23 becaus:-16 before:-21 bitte:8
        blocke:-7 body:22 broken:18 browse:-7 buildi:8 but:-7 bytes:21 call:-10 called:-14
        callin:-8 cannot:14 cause:13 caused:11 ce:-14 cert:14 certif:49 chain:10 charac:-7 chat:-7
        check:11 chunke:10 claude:-8 client:32 close:43 closed:34 column:10 com:28 comple:29 con:25
        conexi:36 conexã:37 config:-17 connec:83 connex:39 contai:-18 conten:-28 contex:-10
        contin:-9 conver:-19 creden:-9 credit:-9 crédit:-8 curl:40 curren:-11 custom:8 data:10
        decodi:12 define:-9 del:-14 demasi:-11 denied:-15 deploy:-8 detail:-40 develo:9 dial:7
        discon:48 dispat:18 down:-8 downlo:9 droppe:10 du:-15 due:-7 during:9 eai:22 econnr:41
        el:11 encodi:21 end:24 ended:19 engine:-8 enoent:-16 enough:10 eof:52 err:28 erreic:-7
        errno:41 es:9 est:-10 establ:19 está:-9 etimed:-35 exceed:-22 except:9 exec:-8 execut:-10
        exhaus:-7 exist:-7 exit:-18 exited:-20 expiré:-7 failed:24 failur:22 fehlge:10 fetch:21
        fetchi:7 filter:-10 foi:19 forbid:-17 format:-7 found:-28 free:-9 full:9 functi:-13
        gatewa:-18 genera:-10 get:15 getadd:26 github:-11 got:-8 handle:-11 handsh:8 hang:22 hat:-8
        host:48 http:25 hyper:10 iam:-14 imposs:21 incomp:13 infere:-11 insuff:-8 intern:45
        interr:14 invali:-15 io:17 issue:15 issuer:21 java:15 json:-14 kein:13 key:-20 known:17
        konnte:22 later:-11 latest:-14 length:11 limit:-23 limite:-8 list:-8 litell:8 llama:-8
        llm:9 load:18 local:7 localh:8 lookup:14 loop:-11 lost:28 límite:-7 many:-8 map:-7
        match:-7 maximu:-8 mcp:-24 memory:-11 messag:-13 method:7 model:-27 modelo:-10 moment:-9
        msg:-13 must:-11 net:21 networ:53 new:-13 nicht:-10 no:8 non:-7 now:8 npx:-10 object:-10
        occurr:-8 off:15 ollama:14 open:-11 operat:-27 option:-16 os:11 oserro:-9 overlo:-11
        param:-10 parame:-7 parse:-26 parsin:-9 pas:-19 pass:9 path:21 payloa:13 peer:17 permis:-12
        persis:12 pkix:8 port:8 post:42 pour:-13 predic:-13 premat:26 proble:18 proces:-31
        projec:-10 prompt:7 proper:-25 protoc:31 provid:-23 proxy:27 pudo:9 quota:-10 ran:10
        rate:-13 reache:-8 read:42 readin:-10 reason:12 receiv:35 recove:10 refuse:13 reject:-11
        remote:24 reply:15 report:17 reques:-12 requir:-21 requis:-9 requêt:-7 reqwes:7 resolu:14
        resolv:15 resour:7 respon:15 result:7 retrie:-9 retryi:10 return:-19 review:-8 right:9
        runtim:-9 safety:-7 satisf:10 se:23 see:13 select:11 self:14 sendin:58 sent:19 serve:8
        serveu:19 servic:7 servid:7 sessio:8 settin:-8 sie:11 signal:-8 signat:7 signed:15
        socket:34 solici:-15 someth:-8 sorry:-12 source:11 spawn:-17 specif:-10 src:-12 ssl:52
        start:-13 stderr:-9 stream:35 string:-11 such:8 talkin:11 target:10 tcp:18 termin:31
        test:24 text:-17 think:9 thread:-7 tiempo:-8 time:-14 timed:-37 timeou:-39 tls:40 token:-18
        tokens:-25 too:-20 total:13 transf:13 transp:8 troubl:9 try:-9 unable:19 unauth:-19
        unavai:-22 unexpe:23 ungült:-7 unsupp:-7 url:23 use:-11 user:-10 util:9 valida:-13
        value:-21 verbin:49 verifi:8 verify:20 versio:8 vous:-15 werden:22 window:-8 write:38
        wrong:-9 zu:-7 été:13 être:17 übersc:-8 запрос:-17 модель:-9 ошибка:10 подклю:35
        превыш:-11 соедин:48 удалос:15 い:-11 が:-16 き:8 し:8 で:10 な:10 の:14 は:14 ま:-8
        り:-7 ク:-11 タ:9 ト:11 ホ:18 ポ:-7 ラ:8 レ:-7 ー:20 上:-8 不:10 个:7 主:17 信:14 内:-10
        再:-10 出:-7 可:-9 器:8 在:-10 型:-9 失:-10 常:10 度:-8 异:12 您:-7 或:-7 接:55 数:-7 断:10
        无:11 时:-10 机:21 查:8 检:7 模:-9 正:-7 求:-9 法:16 生:11 用:-16 発:12 的:10 続:27 络:25
        网:25 置:9 超:-10 过:-7 这:12 连:29 道:9 重:11 限:-13 가:-11 결:38 과:-7 되:9 부:7 에:11
        연:38 용:-8 인:21 입:-7 청:-9 초:-7 크:15 트:15 했:-11
    """,
    ErrorType.PROTOCOL_ERROR: """
        400:-10 404:-7 429:-9 500:-28 access:-8 after:-7 again:-11 ai:31 apierr:-7 argume:-11
        assist:9 attemp:-7 availa:-7 before:-9 but:20 call:38 callba:7 char:17 charac:19 chat:-9
        chatgp:7 check:-7 client:15 column:7 connec:-11 contai:21 curl:-7 data:25 de:-11 decode:9
        del:18 die:8 discon:-7 du:22 el:-8 empty:28 end:21 ended:-7 exceed:14 expect:33 failed:-8
        fetch:33 field:8 finish:17 foi:24 foo:12 format:28 found:36 functi:10 gemini:13 genera:17
        got:-7 header:-8 http:13 id:-9 imposs:22 intern:-8 invali:47 io:7 issue:8 json:70 jsonde:17
        jsonrp:7 key:-13 konnte:13 la:32 langua:13 limit:27 line:56 llama:20 llm:9 log:7 longer:9
        malfor:31 many:-8 match:11 method:-8 model:-9 must:-11 nicht:8 no:12 não:12 object:-15
        occurr:-12 openai:-10 operat:-7 output:27 overlo:-10 param:-8 parse:67 parser:11 positi:27
        protoc:44 provid:29 pudo:17 reason:13 remote:12 requir:-8 requêt:-7 respon:45 return:15
        role:22 runtim:11 schema:10 se:14 select:-7 server:8 serveu:18 servic:-10 servid:23
        sessio:-8 start:7 text:22 tls:-9 token:18 tokens:-7 too:-11 tool:34 transp:9 try:-11
        unexpe:16 ungült:12 unhand:22 unknow:-7 unsupp:26 upstre:-8 utf:25 valid:50 valida:14
        value:49 versio:35 vertex:22 warn:7 werden:13 wrong:-9 не:22 сервер:23 удалос:27 が:-7
        た:7 に:10 の:12 ス:11 ポ:14 レ:14 ン:12 响:20 失:34 应:19 敗:13 败:22 답:18 습:8 을:17
        지:16 하:16 했:15
    """,
    ErrorType.PROVIDER_UNAVAILABLE: """
        400:-20 401:-8 402:-7 403:-25 404:-10 424:24 429:17 443:7 498:17 500:71 502:83 503:96
        504:-25 520:39 529:42 access:-28 acp:-9 action:-13 add:-10 additi:21 addres:22 again:11
        agent:-21 ai:17 allowe:-16 alread:11 anfrag:-12 apical:9 apista:9 app:-10 argume:-17
        assist:-16 auth:-10 authen:-11 availa:42 aws:-10 azure:7 backen:9 bad:27 balanc:-15
        batch:24 bb:8 bd:13 becaus:11 before:34 billin:-8 blocke:-19 body:-11 browse:-8 budget:-7
        busy:39 but:-8 call:-22 callin:7 candid:14 cannot:-7 capaci:53 cc:8 ce:-8 center:15
        certif:-13 channe:12 charac:-8 chat:-10 claude:-14 close:-7 closed:-14 codex:-7 comman:-13
        commun:-7 comple:-9 concur:-12 config:-9 connex:-8 consol:-13 contai:-21 conten:-16
        contex:-32 contin:-15 conver:-7 copilo:-7 count:15 crashe:21 create:-11 creden:-15
        credit:-10 curl:-17 curren:29 das:-7 de:-35 decode:13 decrea:9 deep:12 del:9 demasi:-8
        denied:-15 deploy:18 der:10 detail:22 die:-22 dispat:-8 dispon:8 down:-7 droppe:-16 du:10
        due:19 empty:-19 en:35 enable:-19 encoun:31 end:-10 ended:19 endpoi:-19 engine:38 enoent:-9
        erreic:9 errno:-16 erro:12 errors:13 es:-11 est:22 este:11 está:24 every:15 exhaus:-22
        exist:-11 exit:14 exited:-17 experi:21 expire:-7 failed:14 failur:7 fallba:15 fetch:-26
        field:-8 file:-13 filter:-15 find:-12 first:-8 flash:-7 foi:-18 foo:-11 forbid:-10
        formed:-9 found:-31 free:-14 functi:10 gatewa:13 gemini:-14 genera:-7 gib:12 go:-8
        google:-10 handle:21 hat:-7 header:43 health:11 heap:-8 help:13 high:25 hit:-12 host:-10
        id:9 ihr:-9 imposs:-8 improp:-9 incorr:-12 indisp:22 infere:26 inform:16 intern:38
        intént:12 invoca:-11 io:-8 ist:23 itself:12 java:-15 json:-7 key:-19 known:-8 la:-19
        lang:-10 langua:-10 last:9 later:32 latest:14 le:14 length:-7 limite:-16 limits:-7 line:-7
        list:-12 litell:12 llama:27 load:9 loadin:55 login:-8 long:-16 longer:-12 loop:12 manage:11
        max:-9 mcp:-8 memory:35 messag:-28 mini:-12 missin:-8 mistra:-10 model:44 modell:-10
        models:15 moment:20 more:-12 must:-17 más:12 net:-12 networ:-17 new:-8 nicht:23 no:15
        now:18 npx:-7 nvidia:8 não:-14 object:-9 occurr:19 off:-11 online:15 oops:-9 open:-10
        openai:-16 openro:-8 operat:-8 org:-14 organi:-12 overlo:87 param:7 parame:-14 parse:-14
        parsin:9 pas:-16 pass:-9 peer:7 permis:-21 persis:10 plan:-28 pm:-7 policy:-11 possib:-7
        post:-13 predic:36 proces:46 produc:16 projec:-11 proper:-7 protoc:-16 provid:23 pudo:-7
        query:-8 queue:11 quota:-30 range:-7 rate:-16 reach:19 reache:-17 read:-18 ready:15
        reason:-14 refres:-9 refuse:11 reject:-17 repeat:19 report:19 req:14 requir:-14 requis:-10
        reset:29 resolv:-8 resour:13 restar:14 result:-10 retrie:22 retry:20 retryi:8 return:18
        review:-7 right:19 role:-7 run:-10 runner:36 runnin:22 runtim:32 safety:-7 se:-12 second:13
        seek:12 select:10 sendin:-21 sequen:20 serve:9 server:39 serveu:26 servic:28 servid:31
        sessio:-12 settin:-12 shortl:18 side:13 sie:-16 signal:-7 signed:-9 slot:13 socket:-7
        solici:-11 sonnet:7 source:-7 space:-11 spawn:-11 specif:7 später:14 ssl:-7 start:-7
        stderr:-7 stoppe:-9 stream:-7 studio:19 such:-11 suppor:-30 system:9 tarde:9 task:-12
        tempor:43 test:7 thrott:-12 throug:12 tier:17 timed:-7 times:9 title:15 tls:-8 token:-22
        too:-21 took:-8 tools:-7 total:8 traffi:12 transi:15 transp:-7 tried:8 trop:-7 troubl:7
        try:12 trying:-18 unable:14 unauth:-11 unavai:47 undefi:-7 under:-9 unhand:-10 unknow:17
        unsupp:-11 upstre:41 usage:-13 use:-8 used:-12 user:-12 users:11 using:-17 utf:12
        valida:-19 value:-10 verbin:-19 verfüg:25 verify:-10 versuc:14 vertex:-15 view:-9
        violat:-9 volume:8 votre:-8 waitin:-7 warn:-7 web:13 window:-7 within:-8 withou:13 write:-7
        wrong:-9 wurde:-11 übersc:-8 не:-15 недост:30 ошибка:7 превыш:-18 сервер:36
        слишко:-9 соедин:-11 удалос:-9 い:7 が:12 す:18 た:-16 っ:9 て:7 で:24 の:-11 み:11
        り:-7 れ:-8 を:-10 キ:-7 サ:28 ス:12 テ:8 ト:-18 バ:21 リ:-11 ー:10 上:19 不:-9 中:30 候:8
        入:-7 再:18 出:-8 利:7 前:21 务:16 可:26 合:11 后:9 器:8 回:8 型:12 存:-7 定:-7 已:-14
        当:18 接:-7 暂:21 服:20 查:-8 检:-9 模:12 混:11 渠:10 游:27 用:22 発:8 的:-11 码:7 稍:28
        系:18 络:-9 统:21 网:-9 試:10 试:18 请:9 负:7 超:-19 足:-9 载:7 较:12 过:-9 连:-7 道:9 部:7
        长:-7 限:-18 频:-15 额:-9 가:17 도:11 되:-11 를:-8 버:26 부:13 비:18 서:46 수:-8 스:16
        습:-7 었:-8 을:-8 이:-10 인:-7 입:10 재:7 주:8 청:-10 초:-9 한:-7 해:9
    """,
    ErrorType.RATE_LIMIT: """
        400:-33 401:-15 402:9 403:-17 404:-11 413:-14 429:85 500:-9 502:-7 access:-13 accoun:-13
        active:8 after:30 again:8 agent:-8 ak:-7 allowe:-7 allows:23 anfrag:10 answer:10 api:16
        apical:-9 apierr:10 apista:16 app:21 argume:-7 attemp:14 availa:-19 bad:-15 balanc:-8
        base:8 becaus:-7 before:8 being:10 bitte:31 blocke:-9 body:13 call:-12 callin:-25 calls:11
        capaci:-11 check:29 closed:-8 coder:11 comple:-7 concur:45 connec:-21 consid:15 contac:8
        conten:-11 contex:-18 cooldo:10 cost:-7 create:7 credit:-14 da:-13 daily:-21 das:7 data:-9
        day:-46 dc:9 de:9 demasi:34 denied:-7 deploy:-15 der:-12 des:16 detail:8 develo:7 die:-15
        disabl:-7 down:23 empty:-7 enable:-9 endpoi:-8 engine:-13 erneut:10 err:-8 erreic:18
        errno:-7 est:-8 está:34 excedi:20 execut:-9 exhaus:61 exist:-10 expect:-18 expire:-8
        failed:-13 fast:26 fetch:-12 find:-7 flash:-10 foi:-8 forbid:-7 found:-29 get:-9 go:10
        head:7 high:9 higher:13 hit:11 host:-8 hour:-10 how:18 increa:47 infere:-7 input:-9
        insuff:-19 intera:11 intern:-15 intént:8 invali:-30 inváli:-8 ist:-13 json:-9 key:-22
        la:-24 large:-14 last:12 le:-12 left:7 level:18 licens:9 limit:34 limita:7 limite:34
        limiti:10 limits:24 llm:-22 long:-13 low:9 límite:29 main:7 many:32 max:13 mcp:-16
        metada:8 min:8 mini:14 minute:64 mistra:11 model:-12 modèle:-7 month:-12 monthl:-21 more:9
        más:8 networ:-8 new:-10 nicht:-13 no:-22 now:-11 nuevo:12 number:24 object:-7 observ:7
        occurr:-21 open:7 openai:8 openro:13 operat:-11 organi:7 output:-13 over:30 overlo:-23
        packag:-11 param:-10 parame:-7 parse:-9 passed:-9 permis:-8 plus:15 pm:-14 por:26
        proces:-20 proj:-8 projec:-10 protoc:-7 provis:13 quickl:12 quota:36 rate:76 raw:11 ray:7
        reache:37 read:-14 reason:-11 rechar:-8 recurs:-8 refer:8 remain:7 reques:14 requir:-16
        requis:11 requêt:25 resets:-9 resour:17 retry:40 return:15 right:-8 rpm:15 run:-12
        runnin:-8 runtim:-17 search:-15 second:23 select:-10 sendin:32 sent:12 serveu:-7 servid:-17
        sessio:-12 settin:9 size:-15 slow:22 solici:12 spend:-20 spendi:15 später:11 start:-8
        subscr:7 tarde:33 termin:-9 text:-8 thinki:-9 thrott:65 timed:-14 timeou:-9 today:-11
        tokens:8 tomorr:-9 too:35 tool:-19 top:7 tpd:-15 tpm:12 transi:-8 transp:-7 trop:38 try:-8
        trying:14 tu:-9 unable:-18 unauth:-12 unavai:-9 undefi:-7 unexpe:-20 ungült:-7 unknow:-11
        unsupp:-7 url:-17 usage:-15 used:7 user:-9 utc:15 valid:-7 valida:-8 value:-22 versuc:11
        veuill:14 violat:-9 votre:-10 vous:11 wait:24 weekly:-10 window:-7 withou:-7 worksp:15
        zu:10 запрос:17 исчерп:-7 лимит:29 не:-10 неверн:-7 отклон:-11 ошибка:-8 превыш:15
        сервер:-13 слишко:24 え:12 お:9 く:11 さ:7 せ:-7 だ:12 で:-10 の:-8 ば:10 ら:10 を:8
        ん:-7 ア:-9 イ:-9 タ:-7 ッ:-7 ト:15 リ:8 レ:11 ン:-15 不:-16 于:11 候:9 再:22 分:11 制:22
        发:15 器:-9 型:-10 多:11 大:-7 太:17 失:-12 并:17 度:11 接:-7 日:-8 时:-12 权:-7 模:-10
        求:36 稍:17 繁:15 行:11 被:10 試:14 误:-8 请:17 调:11 败:-8 达:9 过:13 達:7 重:-8 量:-11
        错:-8 限:47 频:34 내:-7 너:15 도:29 되:-10 무:14 서:-8 세:8 수:-7 시:8 않:-7 었:-8 요:12
        용:-10 이:-11 입:-8 잠:14 재:7 지:-9 청:21 초:11 한:15 후:21
    """,
    ErrorType.TIMEOUT: """
        400:-25 401:-11 403:-13 408:46 429:-14 443:27 503:-7 504:69 524:54 aborti:25 access:-12
        accoun:-9 addres:-13 after:33 again:-11 agotad:15 ai:-15 anfrag:30 api:9 apitim:10 app:-7
        attent:23 au:11 availa:-8 bad:-16 becaus:13 blocke:-9 body:-13 cancel:9 cannot:-9 certif:-7
        claude:-8 client:9 close:-12 closed:-11 comple:22 connec:35 connex:8 conten:-16 contex:18
        conver:-7 curren:-8 da:32 das:17 deadli:58 demasi:11 der:34 des:17 detail:-9 dial:11 didn:9
        die:12 discon:-13 domain:8 due:13 délai:23 dépass:11 econnr:-9 el:8 empty:-8 erreic:-8
        es:-12 espera:30 est:-8 etimed:46 exceed:31 exit:8 exited:8 expect:-9 expiré:22 failed:-11
        fehlge:10 fetch:51 foi:-15 found:-15 gatewa:19 gemini:-7 genera:-12 git:9 gpt:-7 hat:47
        header:-14 host:19 http:10 httpco:7 hub:9 id:-18 idle:10 imposs:-9 input:-10 invali:-24
        invoca:8 inváli:-8 io:7 ist:-8 json:-8 konnte:-7 la:25 last:-14 le:36 limit:-23 limite:11
        llm:-10 long:13 many:-8 max:-9 maximu:-12 mcp:-12 messag:-8 millis:9 model:-18 modell:7
        modèle:-7 must:-7 net:26 networ:18 new:7 next:12 nicht:18 não:17 object:-7 openai:-11
        operat:25 overlo:10 parse:-8 pas:33 permis:-9 pool:13 possib:13 primar:8 proces:-10
        prompt:-7 provid:-12 quota:-7 rate:-12 reache:-7 read:17 reason:12 receiv:13 refuse:-8
        remote:-11 requir:-9 requis:33 requêt:20 reset:-18 respon:21 return:-8 second:21 sent:-17
        server:13 servic:-14 servid:25 socket:12 solici:30 sorry:-8 sse:7 ssl:-7 stop:13 stream:12
        suppor:-10 system:12 tarde:-9 tcp:11 termin:33 tiempo:47 time:57 timed:117 timeou:116
        token:-9 tokens:13 took:24 tool:-12 trop:-7 try:-11 unavai:-18 undefi:-8 une:13 unexpe:-24
        ungült:-9 unknow:-11 valida:-7 verfüg:-7 vertex:8 waitin:27 werden:-7 win:11 within:7
        wrong:-8 wurde:-7 zu:8 запрос:19 лимит:-7 модель:24 не:14 ошибка:-7 превыш:21
        сервер:18 слишко:-8 удалос:-7 あ:7 お:7 か:7 が:7 き:8 す:-11 た:13 を:-7 ア:16 イ:18
        エ:11 ク:10 タ:18 ト:9 リ:14 ン:-8 ー:-15 一:14 不:-15 于:11 内:13 务:12 可:-7 后:8 响:18
        型:7 完:10 应:25 或:11 数:-8 时:58 時:10 有:11 查:11 检:11 模:7 求:8 用:-7 由:12 答:18
        试:14 超:37 重:11 間:11 限:-14 간:25 과:22 니:-8 다:-8 답:11 대:10 되:8 세:-7 시:21 었:10
        청:9 초:22 했:-7
    """,
    ErrorType.UNKNOWN: """
        400:-22 about:23 action:16 after:9 agent:49 ai:-15 answer:20 assist:26 attemp:7 bad:17
        before:-7 body:-7 browse:37 but:16 callin:7 check:-9 claude:-7 closed:21 comman:7 comple:18
        connec:15 consol:16 contac:10 conten:15 contex:10 conver:21 couldn:27 curl:13 data:-13
        detail:34 discon:11 due:19 during:15 engine:26 enoent:24 exceed:-11 execut:24 exit:12
        failed:31 fetch:-17 found:-8 functi:-8 genera:50 github:15 happen:30 here:23 hit:27 http:-8
        info:16 intern:-9 invali:-14 json:10 kv:17 limit:-11 llm:16 load:20 logs:17 many:13 mcp:77
        model:-17 nil:17 no:12 nova:7 npx:18 occurr:44 oops:47 openai:12 operat:31 output:9 post:17
        proces:7 projec:16 prompt:-7 provid:-15 query:17 questi:24 qwen:17 reason:-8 receiv:-7
        refres:19 reques:11 respon:12 retry:17 return:-7 review:20 runnin:31 search:18 see:12
        server:10 servic:-8 sessio:-8 side:-9 single:7 someth:53 sorry:19 space:16 spawn:37
        start:14 state:16 stderr:16 stoppe:23 stream:-17 task:23 text:26 timed:10 token:-9 too:9
        tool:28 tools:16 transp:12 try:23 unable:26 undefi:46 unexpe:36 unknow:62 url:-8 use:-7
        user:15 valida:-7 went:22 wrong:53
    """,
}
