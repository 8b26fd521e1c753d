package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

// askFlags is the part of an ask's command line that becomes its body.
type askFlags struct {
	options                             []string
	yesNo, approveDeny                  bool
	text, placeholder, context          string
	scope, to, ttl                      string
	correlationID, replyTo, data, doing string
}

func (f *askFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.options, "option", nil, "an answer, as `VALUE:LABEL[:primary|danger|default]`; 2 to 4 of them, in this order")
	flags.BoolVar(&f.yesNo, "yes-no", false, "the answers are Yes (approve) and No (deny)")
	flags.BoolVar(&f.approveDeny, "approve-deny", false, "the answers are Approve (approve) and Deny (deny)")
	flags.StringVar(&f.text, "text", "", "a typed answer of at most `MAX` characters, instead of options or beside them (--text=MAX)")
	flags.Lookup("text").NoOptDefVal = strconv.Itoa(schema.DefaultTextLength)
	flags.StringVar(&f.placeholder, "placeholder", "", "a hint for who types, with --text")
	flags.StringVar(&f.scope, "scope", "", "who may answer: direct (the one whom --to names) or room (anyone in it)")
	flags.StringVar(&f.to, "to", "", "the one `USER` who may answer, by Matrix id; without it, anyone in the room (also --target)")
	flags.StringVar(&f.context, "context", "", "a second line, for example a build number")
	flags.StringVar(&f.ttl, "ttl", "", "how long the question waits, as a `DURATION` such as 30m, or in seconds (default 1h; also --timeout)")
	flags.StringVar(&f.correlationID, "correlation-id", "", "your own `ID` for the question, echoed everywhere")
	flags.StringVar(&f.replyTo, "reply-to", "", "a `POINTER` of your own to where the answer belongs, echoed everywhere")
	flags.StringVar(&f.data, "data", "", "a `JSON` object to be echoed; people do not see it")
	flags.StringVar(&f.doing, "idempotency-key", "", "a `KEY` of your own for this asking: whoever asks again under it gets the same question")
	for name, into := range map[string]*string{"timeout": &f.ttl, "target": &f.to} { // as the protocol calls them
		flags.StringVar(into, name, "", "")
		_ = flags.MarkHidden(name)
	}
	command.Values(cmd, "scope", "direct\tone person, whom --to names", "room\tanyone in the room")
	command.Complete(cmd, "option", completeOption)
}

// how is what the command line says about the asking and not about the question.
func (f *askFlags) how() []client.AskOption {
	if f.doing == "" {
		return nil
	}
	return []client.AskOption{client.IdempotencyKey(f.doing)}
}

// ask makes the body. An empty value of a flag that limits something is refused rather than taken for no limit: it is
// most likely a variable that was never set.
func (f *askFlags) ask(cmd *cobra.Command, prompt string) (*schema.CoreAsk, error) {
	for _, name := range []string{"text", "scope", "to", "target", "ttl", "timeout", "correlation-id", "reply-to", "data", "idempotency-key"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return nil, fmt.Errorf("--%s is empty", name)
		}
	}
	if strings.TrimSpace(prompt) == "" {
		return nil, errors.New("the PROMPT is empty")
	}
	ask := &schema.CoreAsk{Prompt: prompt, Context: f.context}
	ask.ResponderScope, ask.TargetUserID = f.scope, f.to
	if f.correlationID != "" {
		ask.CorrelationID = &f.correlationID
	}
	if f.replyTo != "" {
		ask.ReplyTo = &f.replyTo
	}
	err := f.check()
	if err != nil {
		return nil, err
	}
	if ask.Options, err = f.answers(); err != nil {
		return nil, err
	}
	if ask.TextInput, err = f.textInput(); err != nil {
		return nil, err
	}
	if ask.TTL, err = lifetime(f.ttl); err != nil {
		return nil, err
	}
	ask.Data, err = dataObject(f.data)
	return ask, err
}

// check refuses what no server could take.
func (f *askFlags) check() error {
	switch {
	case f.scope != "" && f.scope != "direct" && f.scope != "room":
		return fmt.Errorf("--scope %q: it is direct or room", f.scope)
	case f.scope == "direct" && f.to == "":
		return errors.New("--scope direct needs --to, which names the one who may answer")
	case f.scope == "room" && f.to != "":
		return errors.New("--scope room is anyone in the room: leave out --to")
	case f.placeholder != "" && f.text == "":
		return errors.New("--placeholder needs --text")
	case f.doing == "":
		return nil
	}
	if err := client.IdempotencyKey(f.doing).Check(); err != nil {
		return fmt.Errorf("--idempotency-key: %s", worded(err))
	}
	return nil
}

func (f *askFlags) answers() ([]schema.AskOption, error) {
	switch {
	case f.yesNo && f.approveDeny:
		return nil, errors.New("either --yes-no or --approve-deny")
	case f.yesNo && len(f.options) > 0:
		return nil, errors.New("--yes-no brings its own options: leave out --option")
	case f.approveDeny && len(f.options) > 0:
		return nil, errors.New("--approve-deny brings its own options: leave out --option")
	case f.approveDeny:
		return schema.DefaultOptions(), nil
	case f.yesNo:
		return []schema.AskOption{
			{Value: client.ValueApprove, Label: "Yes", Style: schema.StylePrimary},
			{Value: client.ValueDeny, Label: "No", Style: schema.StyleDanger},
		}, nil
	case len(f.options) == 0 && f.text == "":
		return schema.DefaultOptions(), nil
	}
	var options []schema.AskOption
	for _, text := range f.options {
		o, err := parseOption(text)
		if err != nil {
			return nil, err
		}
		options = append(options, o)
	}
	return options, nil
}

var styles = []schema.Style{schema.StylePrimary, schema.StyleDanger, schema.StyleDefault}

// parseOption reads VALUE:LABEL[:STYLE]. Only the first colon splits, so a label may hold colons; a style is what follows
// the last one, if it is the name of a style. A VALUE alone is its own label.
func parseOption(text string) (schema.AskOption, error) {
	value, label, labelled := strings.Cut(text, ":")
	o := schema.AskOption{Value: value, Label: label, Style: schema.StyleDefault}
	if !labelled {
		o.Label = value
	}
	for _, style := range styles {
		if rest, ok := strings.CutSuffix(o.Label, ":"+string(style)); ok && labelled {
			o.Label, o.Style = rest, style
			break
		}
	}
	if o.Value == "" || o.Label == "" {
		return o, fmt.Errorf("--option %q: VALUE:LABEL[:STYLE] is needed", text)
	}
	return o, nil
}

func (f *askFlags) textInput() (*schema.TextInput, error) {
	if f.text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(f.text)
	if err != nil || n < 1 || n > schema.DefaultTextLength {
		return nil, fmt.Errorf("--text=%s: a number from 1 to %d is needed", f.text, schema.DefaultTextLength)
	}
	return &schema.TextInput{Placeholder: f.placeholder, MaxLength: n}, nil
}

func lifetime(text string) (*schema.Seconds, error) {
	if text == "" {
		return nil, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d <= 0 {
		return nil, fmt.Errorf("--ttl %s: a positive duration such as 90s, 30m or 2h is needed", text)
	}
	return client.TTL(d), nil
}

func dataObject(text string) (map[string]any, error) {
	if text == "" {
		return nil, nil
	}
	o, err := readObject([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("--data: it %w", err)
	}
	if o.repeated != "" {
		return nil, fmt.Errorf("--data: %q is given twice", o.repeated)
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var data map[string]any
	if err := dec.Decode(&data); err != nil {
		return nil, errors.New("--data: it is not an object")
	}
	return data, nil
}
