package schema

// check applies the rules that every question.v2 event must keep and its JSON Schema does not state.
func (e *Elicitation) check() []Fault {
	faults := e.checkMeaning()
	if isBlank(e.Body) {
		faults = append(faults, ruleFault(RuleBody, "/body", "is blank: a stock client would show nothing"))
	}
	return faults
}

func (d *Draft) check() []Fault { return d.checkMeaning() }

func (e *Elicitation) checkMeaning() []Fault {
	var faults []Fault
	if e.CardID == "" {
		if e.RunID != "" {
			faults = append(faults, ruleFault(RuleCard, "/run_id", "must be empty when card_id is"))
		}
		if e.StageKey != "" {
			faults = append(faults, ruleFault(RuleCard, "/stage_key", "must be empty when card_id is"))
		}
		if e.Subject == nil {
			faults = append(faults, ruleFault(RuleSubject, "", "is an approval request without a subject: nothing to bind an approval to"))
		}
		if !e.offersApproval() {
			faults = append(faults, ruleFault(RuleApprove, "/options", "is an approval request that no option approves"))
		}
	}
	if e.Subject != nil && len(e.Options) == 0 {
		faults = append(faults, ruleFault(RuleSubject, "/options", "has a subject but no option to approve or reject it by"))
	}
	return faults
}

func (e *Elicitation) offersApproval() bool {
	for _, o := range e.Options {
		if o.Meaning == Approve {
			return true
		}
	}
	return false
}
