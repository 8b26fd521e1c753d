package app

import (
	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/audit"
	"superpipeline.dev/question-bridge/internal/config"
)

// openAudit opens the audit log that is configured, if any is, and gives what closes it.
func openAudit(cfg config.Config) (auditor bridge.Auditor, closeLog func() error, err error) {
	if cfg.Audit.File == "" {
		return bridge.Unaudited{}, func() error { return nil }, nil
	}
	log, err := audit.Open(cfg.Audit.File)
	if err != nil {
		return nil, nil, err
	}
	return log, log.Close, nil
}

// openAuditBeside opens it for a command, whose own output the streams are for.
func openAuditBeside(cfg config.Config) (auditor bridge.Auditor, closeLog func() error, err error) {
	if audit.IsStream(cfg.Audit.File) {
		cfg.Audit.File = ""
	}
	return openAudit(cfg)
}

func (c *check) audit() {
	if c.cfg.Audit.File == "" {
		return
	}
	_, closeLog, err := openAudit(c.cfg)
	if err == nil {
		err = closeLog()
	}
	c.add(Finding{What: "the audit log opens at " + c.cfg.Audit.File, Err: err, Hint: "audit.file must be a file that this user may write, in a folder that is there"})
}
