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
	"superpipeline.dev/question-bridge/schema"
)

// askFlags is the part of an ask's command line that becomes its body.
type askFlags struct {
	options                                     []string
	yesNo                                       bool
	text, to, context, ttl, correlationID, data string
}

func (f *askFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.options, "option", nil, "an answer, as `VALUE:LABEL[:primary|danger|default]`; 2 to 4 of them, in this order")
	flags.BoolVar(&f.yesNo, "yes-no", false, "the answers are Yes (approve) and No (deny)")
	flags.StringVar(&f.text, "text", "", "a typed answer of at most `MAX` characters, instead of options or beside them (--text=MAX)")
	flags.Lookup("text").NoOptDefVal = strconv.Itoa(schema.DefaultTextLength)
	flags.StringVar(&f.to, "to", "", "the one `USER` who may answer, by Matrix id; without it, anyone in the room")
	flags.StringVar(&f.context, "context", "", "a second line, for example a build number")
	flags.StringVar(&f.ttl, "ttl", "", "how long the question waits, as a `DURATION` such as 30m, or in seconds (default 1h)")
	flags.StringVar(&f.correlationID, "correlation-id", "", "your own `ID` for the question, echoed everywhere")
	flags.StringVar(&f.data, "data", "", "a `JSON` object to be echoed; people do not see it")
}

// ask makes the body. An empty value of a flag that limits something is refused rather than taken for no limit: it is
// most likely a variable that was never set.
func (f *askFlags) ask(cmd *cobra.Command, prompt string) (*schema.CoreAsk, error) {
	for _, name := range []string{"text", "to", "ttl", "correlation-id", "data"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return nil, fmt.Errorf("--%s is empty", name)
		}
	}
	if strings.TrimSpace(prompt) == "" {
		return nil, errors.New("the PROMPT is empty")
	}
	ask := &schema.CoreAsk{Prompt: prompt, Context: f.context}
	ask.TargetUserID = f.to
	if f.correlationID != "" {
		ask.CorrelationID = &f.correlationID
	}
	var err error
	if ask.Options, err = f.answers(); err != nil {
		return nil, err
	}
	if ask.TextInput, err = textInput(f.text); err != nil {
		return nil, err
	}
	if ask.TTL, err = lifetime(f.ttl); err != nil {
		return nil, err
	}
	ask.Data, err = dataObject(f.data)
	return ask, err
}

func (f *askFlags) answers() ([]schema.AskOption, error) {
	switch {
	case f.yesNo && len(f.options) > 0:
		return nil, errors.New("--yes-no brings its own options: leave out --option")
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

// parseOption reads VALUE:LABEL[:STYLE]. Only the first colon splits, so a label may hold colons; a style is what follows
// the last one, if it is the name of a style. A VALUE alone is its own label.
func parseOption(text string) (schema.AskOption, error) {
	value, label, labelled := strings.Cut(text, ":")
	o := schema.AskOption{Value: value, Label: label, Style: schema.StyleDefault}
	if !labelled {
		o.Label = value
	}
	for _, style := range []schema.Style{schema.StylePrimary, schema.StyleDanger, schema.StyleDefault} {
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

func textInput(most string) (*schema.TextInput, error) {
	if most == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(most)
	if err != nil || n < 1 || n > schema.DefaultTextLength {
		return nil, fmt.Errorf("--text=%s: a number from 1 to %d is needed", most, schema.DefaultTextLength)
	}
	return &schema.TextInput{MaxLength: n}, nil
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
