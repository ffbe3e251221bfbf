"""Which pods would a Deployment preempt?"""

from reprieve import Cluster, whatif

cluster = Cluster.from_files("cluster.yaml")
answer = whatif(cluster, "inference.yaml")
for report in answer.reports:
    print(report.demand.name, report.outcome)
    for victim in report.victims:
        print("  preempts", victim.pod.name, "on", victim.node, "because", victim.because.text)
