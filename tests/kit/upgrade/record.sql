PRAGMA application_id=1280790354;
PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE entries (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            level TEXT NOT NULL,
            at_epoch_ms INTEGER NOT NULL,
            at_seconds REAL NOT NULL,
            session_id TEXT,
            turn INTEGER,
            request_id TEXT,
            facts TEXT NOT NULL
        );
INSERT INTO "entries" VALUES(1,1,'agent_started','info',1795766250607,6133.567096034,NULL,NULL,NULL,'{"program":"lastword"}');
INSERT INTO "entries" VALUES(2,1,'client_attached','info',1795766250607,6133.56720129,NULL,NULL,NULL,'{"name":"an-editor","version":"1","protocol_version":1,"reads":[]}');
INSERT INTO "entries" VALUES(3,1,'agent_ready','info',1795766250639,6133.599243614,NULL,NULL,NULL,'{"name":"lastword-agent","version":"0.2.0","protocol_version":1}');
INSERT INTO "entries" VALUES(4,1,'session_created','info',1795766250640,6133.600189687,'scripted-1-1',NULL,NULL,'{"how":"new"}');
INSERT INTO "entries" VALUES(5,1,'prompt','info',1795766250640,6133.600412317,'scripted-1-1',1,'3','{}');
INSERT INTO "entries" VALUES(6,1,'first_progress','debug',1795766250649,6133.608464049,'scripted-1-1',1,NULL,'{}');
INSERT INTO "entries" VALUES(7,1,'first_output','info',1795766250649,6133.608464049,'scripted-1-1',1,NULL,'{}');
INSERT INTO "entries" VALUES(8,1,'answer','info',1795766250649,6133.608464049,'scripted-1-1',1,NULL,'{"stop_reason":"end_turn","by":"agent"}');
INSERT INTO "entries" VALUES(9,1,'prompt','info',1795766250653,6133.612423301,'scripted-1-1',2,'4','{}');
INSERT INTO "entries" VALUES(10,1,'error','error',1795766250656,6133.616396444,'scripted-1-1',2,NULL,'{"type":"rate_limit","retryable":true,"retry_after_seconds":20,"reason":"tokens_per_minute","origin":"provider","phase":"before_output","retry_safety":"auto","action":"wait","http_status":429,"provider_code":"rate_limit_exceeded","request_id":"req_7f3a91c2","incident_id":"01M8E04V3FXKEKYWSZSGV9CRVE-1","rule":"token:ratelimitexceeded"}');
INSERT INTO "entries" VALUES(11,1,'prompt','info',1795766250678,6133.637946255,'scripted-1-1',3,'5','{}');
INSERT INTO "entries" VALUES(12,1,'first_progress','debug',1795766250680,6133.640067441,'scripted-1-1',3,NULL,'{}');
INSERT INTO "entries" VALUES(13,1,'first_output','info',1795766250680,6133.640067441,'scripted-1-1',3,NULL,'{}');
INSERT INTO "entries" VALUES(14,1,'tool_started','info',1795766250680,6133.640067441,'scripted-1-1',3,NULL,'{"call":"call_1","tool":"execute"}');
INSERT INTO "entries" VALUES(15,1,'agent_exited','error',1795766250681,6133.64127998,NULL,NULL,NULL,'{"exit_signal":"SIGKILL","reason":"killed","open_turns":1}');
INSERT INTO "entries" VALUES(16,1,'error','error',1795766250681,6133.64127998,'scripted-1-1',3,NULL,'{"type":"agent_crash","retryable":true,"reason":"killed","origin":"process","phase":"tool_running","retry_safety":"ask","action":"confirm_retry","exit_signal":"SIGKILL","incident_id":"01M8E04V3FXKEKYWSZSGV9CRVE-2","rule":"process:killed"}');
INSERT INTO "entries" VALUES(17,1,'agent_restarted','warning',1795766251682,6134.642363942,NULL,NULL,NULL,'{"attempt":1}');
INSERT INTO "entries" VALUES(18,1,'agent_started','info',1795766251682,6134.642363942,NULL,NULL,NULL,'{"program":"lastword"}');
INSERT INTO "entries" VALUES(19,1,'agent_ready','info',1795766251762,6134.722120102,NULL,NULL,NULL,'{"name":"lastword-agent","version":"0.2.0","protocol_version":1}');
INSERT INTO "entries" VALUES(20,1,'session_resumed','info',1795766251763,6134.723217119,'scripted-1-1',NULL,NULL,'{}');
INSERT INTO "entries" VALUES(21,1,'prompt','info',1795766251763,6134.723217119,'scripted-1-1',4,'6','{}');
INSERT INTO "entries" VALUES(22,1,'first_progress','debug',1795766251769,6134.728541856,'scripted-1-1',4,NULL,'{}');
INSERT INTO "entries" VALUES(23,1,'first_output','info',1795766251769,6134.728541856,'scripted-1-1',4,NULL,'{}');
INSERT INTO "entries" VALUES(24,1,'answer','info',1795766251769,6134.728541856,'scripted-1-1',4,NULL,'{"stop_reason":"end_turn","by":"agent"}');
INSERT INTO "entries" VALUES(25,1,'client_gone','info',1795766251770,6134.729891438,NULL,NULL,NULL,'{}');
INSERT INTO "entries" VALUES(26,2,'agent_started','info',1795766251999,6134.959303204,NULL,NULL,NULL,'{"program":"lastword"}');
INSERT INTO "entries" VALUES(27,2,'client_attached','info',1795766251999,6134.959411344,NULL,NULL,NULL,'{"name":"an-editor","version":"1","protocol_version":1,"reads":[]}');
INSERT INTO "entries" VALUES(28,2,'agent_ready','info',1795766252021,6134.981264886,NULL,NULL,NULL,'{"name":"lastword-agent","version":"0.2.0","protocol_version":1}');
INSERT INTO "entries" VALUES(29,2,'session_created','info',1795766252022,6134.981969211,'scripted-1-1',NULL,NULL,'{"how":"new"}');
INSERT INTO "entries" VALUES(30,2,'prompt','info',1795766252022,6134.982147596,'scripted-1-1',1,'3','{}');
INSERT INTO "entries" VALUES(31,2,'error','error',1795766252026,6134.986293595,'scripted-1-1',1,NULL,'{"type":"network","retryable":true,"reason":"connection_refused","origin":"network","phase":"before_output","retry_safety":"auto","action":"retry","incident_id":"01M8E04WEEKX8RCFMXD02WJ94B-1","rule":"transport:econnrefused"}');
INSERT INTO "entries" VALUES(32,2,'client_gone','info',1795766252046,6135.006192878,NULL,NULL,NULL,'{}');
CREATE TABLE runs (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL UNIQUE,
            door TEXT NOT NULL,
            program TEXT NOT NULL,
            lastword_version TEXT NOT NULL,
            python_version TEXT NOT NULL,
            platform TEXT NOT NULL,
            pid INTEGER NOT NULL,
            started_epoch_ms INTEGER NOT NULL,
            last_epoch_ms INTEGER NOT NULL,
            ended INTEGER NOT NULL DEFAULT 0,
            client TEXT,
            client_version TEXT,
            agent TEXT,
            agent_version TEXT,
            lost_entries INTEGER NOT NULL DEFAULT 0
        );
INSERT INTO "runs" VALUES(1,'01M8E04V3FXKEKYWSZSGV9CRVE','run','lastword','0.2.0','3.11.7','linux',28079,1795766250642,1795766251770,1,'an-editor','1','lastword-agent','0.2.0',0);
INSERT INTO "runs" VALUES(2,'01M8E04WEEKX8RCFMXD02WJ94B','run','lastword','0.2.0','3.11.7','linux',28089,1795766252024,1795766252046,1,'an-editor','1','lastword-agent','0.2.0',0);
CREATE TABLE turns (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            turn INTEGER NOT NULL,
            session_id TEXT NOT NULL,
            started_epoch_ms INTEGER NOT NULL,
            started_seconds REAL NOT NULL,
            ended_seconds REAL,
            first_output_seconds REAL,
            outcome TEXT NOT NULL DEFAULT 'open',
            type TEXT,
            reason TEXT,
            phase TEXT,
            by TEXT,
            stop_reason TEXT,
            incident_id TEXT,
            tools INTEGER NOT NULL DEFAULT 0,
            retries INTEGER NOT NULL DEFAULT 0,
            wait_seconds REAL NOT NULL DEFAULT 0,
            dropped INTEGER NOT NULL DEFAULT 0,
            UNIQUE (run, turn)
        );
INSERT INTO "turns" VALUES(1,1,1,'scripted-1-1',1795766250640,6133.600412317,6133.608464049,6133.608464049,'ok',NULL,NULL,NULL,NULL,'end_turn',NULL,0,0,0.0,0);
INSERT INTO "turns" VALUES(2,1,2,'scripted-1-1',1795766250653,6133.612423301,6133.616396444,NULL,'failed','rate_limit','tokens_per_minute','before_output',NULL,NULL,'01M8E04V3FXKEKYWSZSGV9CRVE-1',0,0,0.0,0);
INSERT INTO "turns" VALUES(3,1,3,'scripted-1-1',1795766250678,6133.637946255,6133.64127998,6133.640067441,'failed','agent_crash','killed','tool_running',NULL,NULL,'01M8E04V3FXKEKYWSZSGV9CRVE-2',1,0,0.0,0);
INSERT INTO "turns" VALUES(4,1,4,'scripted-1-1',1795766251763,6134.723217119,6134.728541856,6134.728541856,'ok',NULL,NULL,NULL,NULL,'end_turn',NULL,0,0,0.0,0);
INSERT INTO "turns" VALUES(5,2,1,'scripted-1-1',1795766252022,6134.982147596,6134.986293595,NULL,'failed','network','connection_refused','before_output',NULL,NULL,'01M8E04WEEKX8RCFMXD02WJ94B-1',0,0,0.0,0);
CREATE INDEX entries_by_run ON entries (run, session_id, turn);
CREATE INDEX entries_failed ON entries (at_epoch_ms)
            WHERE level = 'error' AND turn IS NULL;
CREATE INDEX turns_by_time ON turns (started_epoch_ms);
CREATE INDEX turns_by_session ON turns (session_id, started_epoch_ms);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',2);
COMMIT;
