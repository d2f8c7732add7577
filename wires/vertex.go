package wires

import "strings"

// VertexHost is the global host of Google's Vertex AI, which serves models of several providers.
const VertexHost = "aiplatform.googleapis.com"

// Vertex is the cloud Vertex for models of a publisher.
func Vertex(publisher string) Cloud {
	return Cloud{Hosts: vertexHosts(), Path: "/publishers/" + publisher + "/"}
}

// vertexHosts are the global host, the two multi-regions and every region. Regions are listed because
// the name constraints of a certificate authority cannot cover them: the region stands before a dash,
// not before a dot.
func vertexHosts() []string {
	hosts := []string{VertexHost, "aiplatform.eu.rep.googleapis.com", "aiplatform.us.rep.googleapis.com"}
	for region := range strings.FieldsSeq(`
		africa-south1
		asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3
		asia-south1 asia-south2 asia-southeast1 asia-southeast2
		australia-southeast1 australia-southeast2
		europe-central2 europe-north1 europe-southwest1
		europe-west1 europe-west2 europe-west3 europe-west4 europe-west6 europe-west8 europe-west9 europe-west12
		me-central1 me-central2 me-west1
		northamerica-northeast1 northamerica-northeast2
		southamerica-east1 southamerica-west1
		us-central1 us-east1 us-east4 us-east5 us-south1
		us-west1 us-west2 us-west3 us-west4`) {
		hosts = append(hosts, region+"-"+VertexHost)
	}
	return hosts
}

// VertexHostOf returns the host of a Vertex path by the location that the path names
// (/v1/projects/P/locations/L/publishers/…): one global host, one for each multi-region, one for
// each region.
func VertexHostOf(path string) string {
	_, rest, _ := strings.Cut(path, "/locations/")
	switch location, _, _ := strings.Cut(rest, "/"); location {
	case "", "global":
		return VertexHost
	case "eu", "us":
		return "aiplatform." + location + ".rep.googleapis.com"
	default:
		return location + "-" + VertexHost
	}
}
