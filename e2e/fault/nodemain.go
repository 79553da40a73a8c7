package fault

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
)

// IsNode says whether this process was started to be a [Node].
func IsNode() bool { return os.Getenv(nodeEnv) != "" }

// RunNode is the main function of a process for which [IsNode] is true. It returns the exit
// status when the server has ended.
func RunNode() int {
	var config nodeConfig
	err := json.Unmarshal([]byte(os.Getenv(nodeEnv)), &config)
	if err == nil {
		err = config.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nats node:", err)
		return 1
	}
	return 0
}

func (c nodeConfig) run() error {
	opts, err := c.options()
	if err != nil {
		return err
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM, syscall.SIGINT)
	s.Start()
	if !s.ReadyForConnections(nodeReadyLimit) {
		return fmt.Errorf("it accepts no connections after %s", nodeReadyLimit)
	}
	fmt.Println(nodeReady)
	<-terminate
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

func (c nodeConfig) options() (*server.Options, error) {
	opts := &server.Options{
		ServerName: c.Name, Host: loopback, Port: c.Port, NoSigs: true, NoLog: false, Logtime: true, LogFile: filepath.Join(c.Dir, "nats.log"),
		MaxPayload: c.MaxPayload, JetStream: true, StoreDir: filepath.Join(c.Dir, "store"), SyncAlways: c.SyncAlways,
		JetStreamMaxCatchup: c.CatchUpBytes,
	}
	if c.Cluster == "" {
		return opts, nil
	}
	opts.Cluster = server.ClusterOpts{Name: c.Cluster, Host: loopback, Port: c.Peer}
	for _, route := range c.Routes {
		u, err := url.Parse(route)
		if err != nil {
			return nil, err
		}
		opts.Routes = append(opts.Routes, u)
	}
	return opts, nil
}
