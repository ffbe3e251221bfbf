"""What projects ship to extend an API server: webhooks, policies, APIServices and the like, with kubectl."""

import base64

import yaml

from reprieve.model.json import Json
from tests.e2e.up import Kubectl, deployment

_CSR = base64.b64encode(
    b"-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"
).decode()
SHIPPED = f"""
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {{name: ours-mutating}}
webhooks:
- &hook
  name: maps.hooks.example.com
  admissionReviewVersions: [v1]
  clientConfig: {{service: {{name: hooks, namespace: ours-system, path: /mutate}}, caBundle: Cg==}}
  failurePolicy: Fail
  namespaceSelector: {{matchLabels: {{guarded: "yes"}}}}
  rules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]
  sideEffects: None
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: small.example.com}}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}}
  validations: [{{expression: object.spec.replicas <= 5, message: at most 5 replicas}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: small-where-guarded.example.com}}
spec:
  policyName: small.example.com
  validationActions: [Deny]
  matchResources: {{namespaceSelector: {{matchLabels: {{guarded: "yes"}}}}}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1beta1.metrics.example.com}}
spec:
  group: metrics.example.com
  version: v1beta1
  service: {{name: metrics, namespace: ours-system}}
  groupPriorityMinimum: 100
  versionPriority: 100
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: ours}}
spec:
  matchingPrecedence: 9000
  priorityLevelConfiguration: {{name: ours}}
  rules:
  - subjects: [{{kind: User, user: {{name: alice}}}}]
    nonResourceRules: [{{nonResourceURLs: ["*"], verbs: ["*"]}}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: ours}}
spec:
  type: Limited
  limited: {{nominalConcurrencyShares: 10, limitResponse: {{type: Reject}}}}
---
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: alice}}
spec: {{request: {_CSR}, signerName: example.com/signer, usages: [client auth]}}
---
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {{name: web}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  maxReplicas: 5
"""


def test_it_is_applied_and_counts(kubectl: Kubectl) -> None:
    told = kubectl("apply", "-f", "-", stdin=SHIPPED)
    assert told.count("created\n") == len(list(yaml.safe_load_all(SHIPPED)))
    kubectl("certificate", "approve", "alice")
    assert "Approved" in kubectl("get", "csr")
    assert "ours-system/metrics" in kubectl("get", "apiservices")

    kubectl("create", "configmap", "a")
    kubectl("label", "namespace", kubectl.namespace, "guarded=yes")
    refused = kubectl.run("create", "configmap", "b").stderr
    assert 'failed calling webhook "maps.hooks.example.com"' in refused
    assert 'service "hooks" not found (MutatingWebhookConfiguration ours-mutating)' in refused
    kubectl.apply(deployment("web", replicas=5))
    large: Json = deployment("large", replicas=6)
    refused = kubectl.run("apply", "-f", "-", stdin=yaml.safe_dump(large)).stderr
    assert "binding 'small-where-guarded.example.com' denied request: at most 5 replicas" in refused
