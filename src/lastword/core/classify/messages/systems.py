"""Whole sentences of operating systems and transports in languages other than English.

They are listed by the reason of the `transport` row to which they belong. A number next to a
localised sentence (`WinError 10061`) is in `transport`.
"""

from __future__ import annotations

from lastword.core.classify.text import rows

TRANSPORT = {
    "name_not_resolved": rows("""
        不知道这样的主机
        无法解析主机
        无法解析域名
        域名解析失败
        そのようなホストは不明
        ホスト名を解決できません
        名前解決に失敗
        solcher host bekannt
        host ist unbekannt
        konnte nicht aufgelöst werden
        nicht aufgelöst werden konnte
        hôte inconnu
        hôte n'est connu
        impossible de résoudre
        host desconocido
        se conoce ningún host
        no se pudo resolver
        no se puede resolver
        알려진 호스트가 없
        호스트를 찾을 수 없
        этот хост неизвестен
        не удалось разрешить
        имя или служба не известны
        host não é conhecido
        não foi possível resolver
        name oder dienst nicht bekannt
        name oder der dienst ist nicht bekannt
        nom ou service inconnu
        nombre o servicio desconocido
        nome ou serviço desconhecido
        неизвестное имя или служба
        名前またはサービスが不明
        を解決できません
        이름 혹은 서비스를 알 수 없
        未知的名称或服务
    """),
    "transport": rows("""
        超时
        没有正确答复
        没有反应
        タイムアウト
        時間切れ
        正しく応答しなかった
        zeitüberschreitung
        zeitlimit
        nicht ordnungsgemäß reagiert
        nicht richtig reagiert
        pas répondu convenablement
        응답이 없어 연결하지 못했
        並未正確回應
        risposta non corretta della parte
        délai d'attente
        délai imparti
        a expiré avant
        tiempo de espera
        se agotó el tiempo
        no respondió adecuadamente
        시간 초과
        시간이 초과
        타임아웃
        время ожидания
        превышен таймаут
        истекло время
        не получен нужный отклик
        tempo limite
        tempo esgotado
        não respondeu corretamente
    """),
    "connection_refused": rows("""
        积极拒绝
        拒绝连接
        连接被拒绝
        拒绝了连接
        対象のコンピューターによって拒否
        接続が拒否
        接続を拒否
        zielcomputer die verbindung verweigerte
        verbindung verweigert
        verbindungsaufbau abgelehnt
        expressément refusée
        connexion refusée
        denegó expresamente
        conexión rechazada
        conexión denegada
        연결을 거부
        연결이 거부
        в соединении отказано
        отверг запрос на подключение
        conexão recusada
        máquina de destino as recusou
    """),
    "connection_lost": rows("""
        强迫关闭
        强制关闭
        连接被重置
        对端重置
        对端关闭
        连接已断开
        连接断开
        连接中断
        连接已关闭
        连接被关闭
        強制的に切断
        接続が切断
        接続がリセット
        接続が閉じられ
        vom remotehost geschlossen
        verbindung unterbrochen
        verbindung wurde unterbrochen
        verbindung wurde zurückgesetzt
        verbindung wurde getrennt
        verbindung wurde geschlossen
        verbindung getrennt
        fermée par l'hôte distant
        connexion interrompue
        connexion réinitialisée
        connexion perdue
        connexion fermée
        connexion a été fermée
        connexion a été interrompue
        por el host remoto
        conexión perdida
        conexión interrumpida
        conexión cerrada
        conexión restablecida
        se perdió la conexión
        강제로 끊
        연결이 끊
        연결이 종료
        연결이 재설정
        принудительно разорвал
        соединение разорвано
        соединение сброшено
        соединение потеряно
        соединение прервано
        cancelamento de uma conexão
        conexão perdida
        conexão interrompida
        conexão foi perdida
        conexão foi encerrada
    """),
    "connection_failed": rows("""
        无法连接
        连接失败
        连接错误
        连接异常
        网络错误
        网络异常
        网络连接
        网络请求失败
        请检查网络
        接続できません
        接続に失敗
        接続エラー
        ネットワークエラー
        ネットワーク接続
        verbindung fehlgeschlagen
        verbindung konnte nicht
        verbindung hergestellt werden
        verbindungsfehler
        verbindungsversuch ist fehlgeschlagen
        netzwerkfehler
        impossible de se connecter
        impossible d'établir
        connexion impossible
        n'a pu être établie
        échec de la connexion
        erreur de connexion
        erreur réseau
        no se pudo conectar
        no se puede conectar
        no se pudo establecer
        no se puede establecer
        error de conexión
        error de red
        fallo de conexión
        연결할 수 없
        연결하지 못
        연결에 실패
        연결 실패
        네트워크 오류
        네트워크 연결
        인터넷 연결
        не удалось подключиться
        не удалось установить соединение
        ошибка сети
        ошибка подключения
        ошибка соединения
        нет подключения
        сеть недоступна
        não foi possível conectar
        falha na conexão
        erro de conexão
        erro de rede
        keine internetverbindung
    """),
}
"""Sentences of systems and transports, used only without a status."""
