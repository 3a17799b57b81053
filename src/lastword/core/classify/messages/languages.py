"""Whole sentences of providers and agents in languages other than English.

Those of operating systems and transports are in `systems`, pairs of words in
`core.classify.languages`.
"""

from __future__ import annotations

from lastword.core.classify.text import rows
from lastword.core.failure.taxonomy import ErrorType

SPOKEN = {
    ErrorType.CONTEXT_OVERFLOW: rows("""
        超长
        过长
        超出最大长度
        超过最大长度
        上下文长度
        长度超出
        长度超过
        超出上下文
        超过上下文
        コンテキスト長
        コンテキストウィンドウ
        入力が長すぎ
        会話が長すぎ
        プロンプトが長すぎ
        トークン数が上限
        konversation ist zu lang
        unterhaltung ist zu lang
        eingabe ist zu lang
        anfrage ist zu lang
        prompt ist zu lang
        kontextfenster
        conversation est trop longue
        requête est trop longue
        entrée est trop longue
        fenêtre de contexte
        conversación es demasiado larga
        entrada es demasiado larga
        mensaje es demasiado largo
        ventana de contexto
        컨텍스트 길이를 초과
        컨텍스트 길이 초과
        최대 컨텍스트
        최대 토큰 수를 초과
        토큰 수가 초과
        превышена максимальная длина контекста
        превышен размер контекста
        превышает длину контекста
        контекстное окно
        окно контекста
        слишком длинный запрос
        запрос слишком длинный
        превышено максимальное количество токенов
        janela de contexto
        mensagem é muito longa
        conversa é muito longa
        entrada é muito longa
    """),
    ErrorType.CONTENT_FILTER: rows("""
        コンテンツポリシー
        セキュリティポリシー
        内容不安全
        敏感内容
        敏感词
        敏感信息
        不当内容
        不当信息
        违规内容
        违反使用
        内容审核
        安全审核
        コンテンツポリシー
        利用ポリシー
        不適切な
        安全上の理由
        inhaltsrichtlinie
        nutzungsrichtlinie
        politique de contenu
        règles d'utilisation
        contenu inapproprié
        política de contenido
        políticas de contenido
        contenido inapropiado
        콘텐츠 정책
        부적절한 내용
        유해한 내용
        фильтром контента
        политика контента
        политикой контента
        недопустимое содержание
        política de conteúdo
        políticas de conteúdo
        conteúdo inadequado
        filtro de conteúdo
        filtro de contenido
        filtre de contenu
        inhaltsfilter
    """),
    ErrorType.BUDGET: rows("""
        余额不足
        余额已用
        额度不足
        额度已用
        额度用尽
        额度已耗尽
        剩余额度
        预扣费额度失败
        预扣费失败
        配额不足
        配额已用
        免费额度
        欠费
        充值
        资源包
        套餐已
        日流控
        今日调用次数
        今日请求次数
        今日次数
        当日次数
        次数余量
        次数已用
        当日最大
        每日限额
        使用上限
        限额将在
        限额将于
        额度将在
        额度将于
        今日额度
        每日调用
        残高が不足
        残高不足
        クレジットが不足
        クレジットを使い切
        利用上限に達
        使用上限に達
        使用量の上限
        利用枠
        本日の上限
        guthaben
        kontingent
        tageslimit
        monatslimit
        nutzungslimit
        nutzungsgrenze
        crédits insuffisants
        crédit insuffisant
        solde insuffisant
        quota mensuel
        quota journalier
        quota dépassé
        dépassé votre quota
        limite d'utilisation
        saldo insuficiente
        crédito insuficiente
        créditos insuficientes
        sin saldo
        sin créditos
        cuota excedida
        cuota mensual
        superado su cuota
        límite de uso
        크레딧이 부족
        크레딧 부족
        잔액이 부족
        잔액 부족
        할당량을 초과
        할당량이 초과
        할당량을 모두
        사용량을 모두
        사용 한도를 초과
        사용 한도에 도달
        일일 한도
        월간 한도
        일일 사용
        недостаточно средств
        недостаточно кредитов
        баланс исчерпан
        квота исчерпана
        квота превышена
        превышена квота
        исчерпали квоту
        исчерпана квота
        лимит исчерпан
        дневной лимит
        месячный лимит
        пополните баланс
        пополните счет
        créditos esgotados
        créditos acabaram
        cota excedida
        cota diária
        cota mensal
        limite de uso
    """),
    ErrorType.MODEL_NOT_FOUND: rows("""
        模型不存在
        模型未开通
        模型已下线
        不支持该模型
        不支持此模型
        未找到模型
        找不到模型
        无权使用该模型
        无权访问该模型
        モデルが見つかりません
        モデルは存在しません
        モデル .. は存在しな
        モデルは利用できません
        モデルはサポートされていません
        modell nicht gefunden
        modell .. existiert nicht
        modell .. nicht verfügbar
        modèle introuvable
        modèle .. n'existe pas
        modèle .. n'est pas disponible
        modelo no encontrado
        modelo .. no existe
        modelo .. no está disponible
        모델을 찾을 수 없
        존재하지 않는 모델
        지원하지 않는 모델
        지원되지 않는 모델
        модель не найдена
        модель не существует
        модель не поддерживается
        модель .. не найдена
        модель .. не существует
        modelo não encontrado
        modelo .. não existe
        modelo .. não foi encontrado
        modelo .. não está disponível
    """),
    ErrorType.AUTH: rows("""
        鉴权失败
        鉴权错误
        认证失败
        认证错误
        身份验证
        授权失败
        授权错误
        无权访问
        无权使用
        令牌无效
        令牌已
        该令牌
        密钥无效
        密钥错误
        密钥已
        密钥不正确
        无效的密钥
        无效的令牌
        无效的api
        token 无效
        token 已过期
        token无效
        token已过期
        token 失效
        未授权
        未登录
        重新登录
        请先登录
        登录已过期
        权限不足
        没有权限
        已被封禁
        已被禁用
        地区不支持
        不支持您所在
        所在的地区
        所在地区
        位置不支持
        場所では .. 利用でき
        地域では .. 利用でき
        认证过期
        認証に失敗
        認証エラー
        認証されていません
        キーが無効
        キーが正しく
        無効なapi
        ログインしてください
        再度ログイン
        権限がありません
        お住まいの地域
        anmeldung fehlgeschlagen
        bitte anmelden
        authentifizierung fehlgeschlagen
        authentifizierungsfehler
        nicht autorisiert
        ungültiger api
        api-schlüssel ist ungültig
        ungültiger schlüssel
        bitte melden sie sich
        api-key ist ungültig
        zugriff verweigert
        keine berechtigung
        échec de l'authentification
        échec de la connexion au compte
        erreur d'authentification
        authentification échouée
        authentification requise
        clé api invalide
        clé d'api invalide
        jeton expiré
        jeton invalide
        non autorisé
        accès refusé
        reconnecter
        error de autenticación
        autenticación fallida
        clave api no válida
        clave de api no válida
        clave api inválida
        clave de api inválida
        clave no válida
        token caducado
        no autorizado
        acceso denegado
        inicie sesión
        inicia sesión
        api 키가 유효하지
        유효하지 않은 api
        잘못된 api 키
        api 키가 올바르지
        api 키가 잘못
        인증에 실패
        인증 실패
        로그인이 필요
        다시 로그인
        неверный api
        недействительный api
        неверный ключ
        api-ключ недействителен
        ключ недействителен
        ошибка авторизации
        ошибка аутентификации
        требуется авторизация
        требуется аутентификация
        не авторизован
        доступ запрещен
        войдите снова
        войдите в аккаунт
        chave de api inválida
        chave da api inválida
        autenticação falhou
        falha na autenticação
        erro de autenticação
        não autorizado
        acesso negado
        faça login
    """),
    ErrorType.PROVIDER_UNAVAILABLE: rows("""
        上游失败
        上游返回异常
        服务器繁忙
        服务繁忙
        系统繁忙
        模型繁忙
        访问量过大
        负载已饱和
        负载过高
        过载
        无可用渠道
        无可用的渠道
        没有可用的渠道
        没有可用渠道
        可用 .. 渠道
        可用 .. 通道
        利用可能なチャネル
        利用可能なチャンネル
        사용 가능한 채널
        사용할 수 있는 채널
        verfügbaren kanal
        verfügbarer kanal
        canal disponible
        canal disponível
        доступного канала
        доступных каналов
        服务不可用
        服务暂时不可用
        暂时不可用
        服务暂不可用
        服务异常
        服务器错误
        服务器内部错误
        服务维护
        維護中
        维护中
        过负荷
        過負荷
        混み合って
        混雑して
        高負荷
        一時的に利用できません
        サービスを利用できません
        サーバーエラー
        メンテナンス中
        überlastet
        ausgelastet
        dienst nicht verfügbar
        derzeit nicht verfügbar
        vorübergehend nicht
        wartungsarbeiten
        surchargé
        service indisponible
        temporairement indisponible
        momentanément indisponible
        est indisponible
        maintenance en cours
        sobrecargado
        servicio no disponible
        no está disponible en este momento
        temporalmente no disponible
        no disponible temporalmente
        en mantenimiento
        서비스를 사용할 수 없
        서비스를 이용할 수 없
        과부하
        서버 오류
        점검 중
        временно недоступ
        перегружен
        внутренняя ошибка сервера
        технические работы
        sobrecarregado
        serviço indisponível
        temporariamente indisponível
        erro interno do servidor
        em manutenção
    """),
    ErrorType.RATE_LIMIT: rows("""
        速度太快
        并发数过高
        并发超限
        并发请求
        并发数已
        限流
        限频
        请求过多
        请求太多
        过于频繁
        速度过快
        请求过快
        访问频率
        太频繁
        请求频率
        频率超限
        频率超过
        速率限制
        冷却中
        qps超限
        レート制限
        リクエスト数が上限
        リクエストが多すぎ
        リクエスト制限
        zu viele anfragen
        ratenbegrenzung
        anfragelimit
        trop de requêtes
        limite de débit
        limite de requêtes
        demasiadas solicitudes
        demasiadas peticiones
        límite de solicitudes
        límite de peticiones
        límite de velocidad
        요청이 너무 많
        요청 한도
        속도 제한
        너무 많은 요청
        слишком много запросов
        лимит запросов
        лимит скорости
        лимита скорости
        превышен лимит запросов
        muitas solicitações
        muitas requisições
        limite de solicitações
        limite de requisições
        limite de taxa
    """),
}
"""Sentences of providers and agents. They outrank the status, as the English ones do."""
