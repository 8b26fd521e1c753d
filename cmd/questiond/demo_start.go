package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

const (
	demoDomain = "question.test"
	demoCode   = "DEMO"
	demoAgent  = "demo"
)

// start brings everything up in the one order that works: the homeserver needs the bridge's port, the bridge needs the
// homeserver's, the room needs the people, and the bot joins the room once the bridge runs. fail is called when
// something that was up goes down by itself. end takes everything down again, also after an error.
func (d *demo) start(ctx context.Context, fail context.CancelCauseFunc) (end func() error, err error) {
	var ends []func() error
	end = func() error {
		var errs []error
		for i := len(ends) - 1; i >= 0; i-- {
			errs = append(errs, ends[i]())
		}
		return errors.Join(errs...)
	}
	listeners, err := d.listen(ctx)
	if err != nil {
		return end, err
	}
	ends = append(ends, func() error { // closed already, once the bridge has had them
		_, _ = listeners.API.Close(), listeners.Appservice.Close()
		return nil
	})
	reg, err := d.register(listeners)
	if err != nil {
		return end, err
	}
	if err := d.startHomeserver(ctx); err != nil {
		return end, err
	}
	ends = append(ends, d.homeserver.Stop)
	go func() {
		<-d.homeserver.Done()
		fail(fmt.Errorf("the homeserver ended; %s", d.dir.logAt(demoServerLog)))
	}()
	if err := d.signIn(ctx); err != nil {
		return end, err
	}
	if err := d.furnish(ctx); err != nil {
		return end, err
	}
	if d.dir.state.Encrypted {
		ends = append(ends, d.closeClients)
		if err := d.encrypt(ctx); err != nil {
			return end, err
		}
	}
	if err := d.configure(); err != nil {
		return end, err
	}
	if err := d.grant(ctx); err != nil {
		return end, err
	}
	stop, err := d.startBridge(ctx, fail, app.Options{Config: d.config, Registration: reg, Listeners: listeners})
	ends = append(ends, stop)
	if err != nil {
		return end, err
	}
	if err := d.alice.WaitForMember(ctx, d.room, d.config.BotID(), "join"); err != nil {
		return end, fmt.Errorf("the bot did not join the room: %w", err)
	}
	return end, d.askSample(ctx)
}

// startHomeserver takes the port that was asked for, else the last one, so that clients stay logged in, else a free one.
func (d *demo) startHomeserver(ctx context.Context) error {
	ports := &d.dir.state.Ports
	opts := testserver.Options{
		DataDir: d.dir.file(demoServerDir), LogFile: d.dir.file(demoServerLog), Binary: d.flags.dendrite,
		ServerName: demoDomain, Port: d.flags.ports.Homeserver, Registrations: []string{d.dir.file(demoRegistration)},
	}
	asked := opts.Port != 0
	if !asked {
		opts.Port = ports.Homeserver
	}
	server, err := testserver.Start(ctx, opts)
	if errors.Is(err, testserver.ErrPortTaken) {
		if asked {
			return portTaken("homeserver", opts.Port)
		}
		opts.Port = 0
		server, err = testserver.Start(ctx, opts)
	}
	if err != nil {
		return err
	}
	d.homeserver, d.config.Homeserver.URL = server, server.URL
	ports.Homeserver = portOf(server.URL)
	return d.dir.saveState()
}

// register writes the registration for the ports of this run, with the tokens of the last one: the homeserver knows
// the bot by them.
func (d *demo) register(l app.Listeners) (config.Registration, error) {
	d.config = config.Default()
	d.config.Homeserver.Domain = demoDomain
	d.config.Appservice.Listen = l.Appservice.Addr().String()
	d.config.Appservice.URL = "http://" + d.config.Appservice.Listen
	d.config.API.Listen = l.API.Addr().String()
	path := d.dir.file(demoRegistration)
	reg := d.config.NewRegistration()
	if old, err := config.ReadRegistration(path); err == nil {
		reg.ASToken, reg.HSToken = old.ASToken, old.HSToken
	}
	return reg, reg.Save(path, true)
}

const demoConfigHead = "The configuration of a demo, written by `questiond demo` each time it starts: changes are lost."

// configure writes the bridge's configuration, and reads it as the bridge would.
func (d *demo) configure() error {
	c := d.config
	c.Rooms = []config.Room{{Code: demoCode, Room: d.room, Name: "Demo"}}
	c.Agents = []config.Agent{{ID: demoAgent, Name: "Demo agent"}}
	c.WorkspaceAdmins.Users = []string{d.alice.ID}
	c.Join.From, c.Auth.OpenID.Servers = []string{demoDomain}, []string{demoDomain}
	c.Database.Path = demoDatabase
	if d.dir.state.Encrypted {
		c.Encryption.Enabled = true
		c.Encryption.PickleKey, c.Encryption.Password = config.Secret{File: demoPickleKey}, config.Secret{File: demoBotPassword}
	}
	c.Logging = config.LogToFile(demoBridgeLog)
	path := d.dir.file(demoConfig)
	err := c.Save(path, demoConfigHead)
	if err == nil {
		d.config, err = config.Load(path, func(string) string { return "" })
	}
	if err != nil {
		return fmt.Errorf("configure the bridge: %w", err)
	}
	return nil
}

// How long the bridge may take to finish what it does when the demo ends.
const bridgePatience = 20 * time.Second

// startBridge runs the bridge within this process and returns once it is ready.
func (d *demo) startBridge(ctx context.Context, fail context.CancelCauseFunc, opts app.Options) (stop func() error, err error) {
	log, err := d.config.Logging.Compile()
	if err != nil {
		return func() error { return nil }, fmt.Errorf("log: %w", err)
	}
	ready, ended := make(chan app.Addresses, 1), make(chan struct{})
	opts.Log = *log
	opts.Ready = func(at app.Addresses) { ready <- at }
	running, cancel := context.WithCancel(context.Background())
	stop = func() error {
		cancel()
		select {
		case <-ended:
			return nil
		case <-time.After(bridgePatience):
			return errors.New("the bridge did not end in time")
		}
	}
	var failure error
	go func() {
		defer close(ended)
		failure = d.bridge(running, opts)
		if running.Err() == nil {
			fail(fmt.Errorf("the bridge ended: %w; %s", reason(failure), d.dir.logAt(demoBridgeLog)))
		}
	}()
	select {
	case d.at = <-ready:
		return stop, nil
	case <-ended:
		return stop, fmt.Errorf("start the bridge: %w", reason(failure))
	case <-ctx.Done():
		return stop, fmt.Errorf("start the bridge: %w", context.Cause(ctx))
	}
}

// reason gives words to an end without an error.
func reason(err error) error {
	if err == nil {
		return errors.New("for no stated reason")
	}
	return err
}
