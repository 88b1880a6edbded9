package config

// quotaKeys are the keys of users, client ids and addresses. Kafka: QuotaConfigs.userAndClientQuotaConfigs, ipConfigs.
var quotaKeys = []Key{
	{"producer_byte_rate", Long, val("9223372036854775807"), atLeast(1), ClusterWide, Honored, "Bytes a second that may be produced."},
	{"consumer_byte_rate", Long, val("9223372036854775807"), atLeast(1), ClusterWide, Honored, "Bytes a second that may be fetched."},
	{"request_percentage", Double, val("2147483647"), atLeast(0), ClusterWide, Honored, "Share of one thread's time that requests may take."},
	{"controller_mutation_rate", Double, val("2147483647"), atLeast(0), ClusterWide, Honored, "Partitions a second that may be created and deleted."},
	{"connection_creation_rate", Int, val("2147483647"), atLeast(0), ClusterWide, Honored, "Connections a second that an address may make."},
}

// ValidateQuotas checks the quotas among the settings of a user, a client id or an address. The error is
// kerr.InvalidConfig.
func ValidateQuotas(settings map[string]string) error {
	for i := range quotaKeys {
		k := &quotaKeys[i]
		text, ok := settings[k.Name]
		if !ok {
			continue
		}
		if _, err := k.Parse(text); err != nil {
			return err
		}
	}
	return nil
}
