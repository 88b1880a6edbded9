package znode

// EncodeClusterID gives the data of /cluster/id. Its version is a string in Kafka, too. Kafka: ClusterIdZNode.
func EncodeClusterID(id string) []byte {
	return append(appendString([]byte(`{"version":"1","id":`), id), '}')
}

// DecodeClusterID reads /cluster/id.
func DecodeClusterID(data []byte) (string, error) {
	var j struct {
		ID text `json:"id"`
	}
	if err := decode("cluster id", data, &j); err != nil {
		return "", err
	}
	if j.ID == "" {
		return "", &DecodeError{Node: "cluster id", Data: data, Err: errMissing("id")}
	}
	return string(j.ID), nil
}
