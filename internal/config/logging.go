package config

import (
	"fmt"
	"slices"

	"github.com/rs/zerolog"
	"go.mau.fi/zeroconfig"
)

// defaultLogging writes JSON lines to stderr, from level info on.
func defaultLogging() zeroconfig.Config {
	info := zerolog.InfoLevel
	return zeroconfig.Config{
		MinLevel: &info,
		Writers:  []zeroconfig.WriterConfig{{Type: zeroconfig.WriterTypeStderr, Format: zeroconfig.LogFormatJSON}},
	}
}

// LogToFile gives logging into one file, from level info on, and nowhere else.
func LogToFile(path string) zeroconfig.Config {
	logging := defaultLogging()
	logging.Writers = []zeroconfig.WriterConfig{{
		Type: zeroconfig.WriterTypeFile, Format: zeroconfig.LogFormatJSON,
		FileConfig: zeroconfig.FileConfig{Filename: path, MaxSize: 10, MaxBackups: 2},
	}}
	return logging
}

var (
	logWriters = []zeroconfig.WriterType{
		zeroconfig.WriterTypeStdout, zeroconfig.WriterTypeStderr, zeroconfig.WriterTypeFile,
		zeroconfig.WriterTypeSyslog, zeroconfig.WriterTypeSyslogCEE, zeroconfig.WriterTypeJournald,
	}
	logFormats = []zeroconfig.LogFormat{
		"", zeroconfig.LogFormatJSON, zeroconfig.LogFormatPretty, zeroconfig.LogFormatPrettyColored,
	}
)

// logging finds what zeroconfig would refuse, without opening anything.
func (k *checker) logging(logging zeroconfig.Config) {
	for i, w := range logging.Writers {
		at := fmt.Sprintf("logging.writers[%d]", i)
		k.rule(slices.Contains(logWriters, w.Type), at+".type",
			"must be stdout, stderr, file, syslog, syslog-cee or journald")
		k.rule(slices.Contains(logFormats, w.Format), at+".format", "must be json, pretty or pretty-colored")
		k.rule(w.Type != zeroconfig.WriterTypeFile || w.Filename != "", at+".filename",
			"must be set for a writer of type file")
	}
}
