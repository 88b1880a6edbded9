# One static binary in an empty image: no shell, no package manager, not root.
ARG GO_IMAGE=golang:1.26
FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=container
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/jackdaw ./cmd/jackdaw \
 && mkdir -p /out/data /out/etc/jackdaw \
 && cp docker/server.properties /out/etc/jackdaw/server.properties

FROM scratch
COPY --from=build --chown=65532:65532 /out/data /var/lib/jackdaw
COPY --from=build /out/etc/jackdaw /etc/jackdaw
COPY --from=build /out/jackdaw /usr/bin/jackdaw
USER 65532:65532
WORKDIR /var/lib/jackdaw
VOLUME /var/lib/jackdaw
EXPOSE 9092 9404
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s --retries=3 CMD ["/usr/bin/jackdaw", "health", "--admin", "127.0.0.1:9404"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/jackdaw"]
CMD ["start", "/etc/jackdaw/server.properties"]
