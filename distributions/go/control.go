package stepdown

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// control is the control port of brokers: JSON over HTTP.
type control struct {
	address string
	token   string
}

func (port *control) ask(method, path string, fields Fields) (map[string]any, error) {
	if fields == nil {
		fields = Fields{}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, "http://"+port.address+"/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if port.token != "" {
		request.Header.Set("Authorization", "Bearer "+port.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s /%s: %v", method, path, answer["error"])
	}
	return answer, nil
}

func number(value any) string { return fmt.Sprintf("%.0f", value.(float64)) }
