module longhorn-health-exporter/tests/longhorn/standins

go 1.24

require github.com/hanwen/go-fuse/v2 v2.7.2

require golang.org/x/sys v0.0.0-20220520151302-bc2c85ada10a // indirect
