"""Request versions of Apache Kafka's releases, written by tests/support/kafka_releases.py from their jars. Do not edit.

A test fails when a jar says something else. `kafka_releases.py` reads this.
"""

BROKER_VERSIONS = """\
key request                               0.10.2 1.1 2.8  3.9.1 4.0.0 4.0.1 4.1  4.2  4.3  4.4
0   Produce                               0-2    0-5 0-9  0-11  3-12  3-12  3-13 3-13 3-13 3-13
1   Fetch                                 0-3    0-7 0-12 0-17  4-17  4-17  4-18 4-18 4-18 4-18
2   ListOffsets                           0-1    0-2 0-6  0-9   1-10  1-10  1-10 1-11 1-11 1-11
3   Metadata                              0-2    0-5 0-11 0-12  0-13  0-13  0-13 0-13 0-13 0-13
8   OffsetCommit                          0-2    0-3 0-8  0-9   2-9   2-9   2-9  2-10 2-10 2-10
9   OffsetFetch                           0-2    0-3 0-7  0-9   1-9   1-9   1-9  1-10 1-10 1-10
10  FindCoordinator                       0-0    0-1 0-3  0-6   0-6   0-6   0-6  0-6  0-6  0-6
11  JoinGroup                             0-1    0-2 0-7  0-9   2-9   0-9   0-9  0-9  0-9  0-9
12  Heartbeat                             0-0    0-1 0-4  0-4   0-4   0-4   0-4  0-4  0-4  0-4
13  LeaveGroup                            0-0    0-1 0-4  0-5   0-5   0-5   0-5  0-5  0-5  0-5
14  SyncGroup                             0-0    0-1 0-5  0-5   0-5   0-5   0-5  0-5  0-5  0-5
15  DescribeGroups                        0-0    0-1 0-5  0-5   0-6   0-6   0-6  0-6  0-6  0-6
16  ListGroups                            0-0    0-1 0-4  0-5   0-5   0-5   0-5  0-5  0-5  0-5
17  SaslHandshake                         0-0    0-1 0-1  0-1   0-1   0-1   0-1  0-1  0-1  0-1
18  ApiVersions                           0-0    0-1 0-3  0-4   0-4   0-4   0-4  0-4  0-4  0-5
19  CreateTopics                          0-1    0-2 0-7  0-7   2-7   2-7   2-7  2-7  2-7  2-7
20  DeleteTopics                          0-0    0-1 0-6  0-6   1-6   1-6   1-6  1-6  1-6  1-6
21  DeleteRecords                         -      0-0 0-2  0-2   0-2   0-2   0-2  0-2  0-2  0-2
22  InitProducerId                        -      0-0 0-4  0-5   0-5   0-5   0-5  0-5  0-5  0-5
23  OffsetForLeaderEpoch                  -      0-0 0-4  0-4   2-4   2-4   2-4  2-4  2-4  2-4
24  AddPartitionsToTxn                    -      0-0 0-3  0-5   0-5   0-5   0-5  0-5  0-5  0-5
25  AddOffsetsToTxn                       -      0-0 0-3  0-4   0-4   0-4   0-4  0-4  0-4  0-4
26  EndTxn                                -      0-0 0-3  0-4   0-5   0-5   0-5  0-5  0-5  0-5
27  WriteTxnMarkers                       -      0-0 0-1  0-1   1-1   1-1   1-1  1-2  1-2  1-2
28  TxnOffsetCommit                       -      0-0 0-3  0-4   0-5   0-5   0-5  0-5  0-5  0-6
29  DescribeAcls                          -      0-0 0-2  0-3   1-3   1-3   1-3  1-3  1-3  1-3
30  CreateAcls                            -      0-0 0-2  0-3   1-3   1-3   1-3  1-3  1-3  1-3
31  DeleteAcls                            -      0-0 0-2  0-3   1-3   1-3   1-3  1-3  1-3  1-3
32  DescribeConfigs                       -      0-1 0-4  0-4   1-4   1-4   1-4  1-4  1-4  1-4
33  AlterConfigs                          -      0-0 0-2  0-2   0-2   0-2   0-2  0-2  0-2  0-2
34  AlterReplicaLogDirs                   -      0-0 0-2  0-2   1-2   1-2   1-2  1-2  1-2  1-2
35  DescribeLogDirs                       -      0-0 0-2  0-4   1-4   1-4   1-4  1-4  1-5  1-5
36  SaslAuthenticate                      -      0-0 0-2  0-2   0-2   0-2   0-2  0-2  0-2  0-2
37  CreatePartitions                      -      0-0 0-3  0-3   0-3   0-3   0-3  0-3  0-3  0-3
38  CreateDelegationToken                 -      0-0 0-2  0-3   1-3   1-3   1-3  1-3  1-3  1-3
39  RenewDelegationToken                  -      0-0 0-2  0-2   1-2   1-2   1-2  1-2  1-2  1-2
40  ExpireDelegationToken                 -      0-0 0-2  0-2   1-2   1-2   1-2  1-2  1-2  1-2
41  DescribeDelegationToken               -      0-0 0-2  0-3   1-3   1-3   1-3  1-3  1-3  1-3
42  DeleteGroups                          -      0-0 0-2  0-2   0-2   0-2   0-2  0-2  0-2  0-3
43  ElectLeaders                          -      -   0-2  0-2   0-2   0-2   0-2  0-2  0-2  0-2
44  IncrementalAlterConfigs               -      -   0-1  0-1   0-1   0-1   0-1  0-1  0-1  0-1
45  AlterPartitionReassignments           -      -   0-0  0-0   0-0   0-0   0-1  0-1  0-1  0-1
46  ListPartitionReassignments            -      -   0-0  0-0   0-0   0-0   0-0  0-0  0-0  0-0
47  OffsetDelete                          -      -   0-0  0-0   0-0   0-0   0-0  0-0  0-0  0-0
48  DescribeClientQuotas                  -      -   0-1  0-1   0-1   0-1   0-1  0-1  0-1  0-1
49  AlterClientQuotas                     -      -   0-1  0-1   0-1   0-1   0-1  0-1  0-1  0-1
50  DescribeUserScramCredentials          -      -   0-0  0-0   0-0   0-0   0-0  0-0  0-0  0-0
51  AlterUserScramCredentials             -      -   0-0  0-0   0-0   0-0   0-0  0-0  0-0  0-0
55  DescribeQuorum                        -      -   -    0-2   0-2   0-2   0-2  0-2  0-2  0-2
57  UpdateFeatures                        -      -   0-0  0-1   0-2   0-2   0-2  0-2  0-2  0-2
60  DescribeCluster                       -      -   0-0  0-1   0-2   0-2   0-2  0-2  0-2  0-2
61  DescribeProducers                     -      -   0-0  0-0   0-0   0-0   0-0  0-0  0-0  0-0
64  UnregisterBroker                      -      -   -    0-0   0-0   0-0   0-0  0-0  0-0  0-0
65  DescribeTransactions                  -      -   -    0-0   0-0   0-0   0-0  0-0  0-0  0-0
66  ListTransactions                      -      -   -    0-1   0-1   0-1   0-2  0-2  0-2  0-2
68  ConsumerGroupHeartbeat                -      -   -    0-0   0-1   0-1   0-1  0-1  0-1  0-1
69  ConsumerGroupDescribe                 -      -   -    0-0   0-1   0-1   0-1  0-1  0-1  0-1
71  GetTelemetrySubscriptions             -      -   -    0-0   0-0   0-0   0-0  0-0  0-0  0-0
72  PushTelemetry                         -      -   -    0-0   0-0   0-0   0-0  0-0  0-0  0-0
74  ListConfigResources                   -      -   -    0-0   0-0   0-0   0-1  0-1  0-1  0-1
75  DescribeTopicPartitions               -      -   -    0-0   0-0   0-0   0-0  0-0  0-0  0-0
76  ShareGroupHeartbeat                   -      -   -    -     -     -     1-1  1-1  1-1  1-1
77  ShareGroupDescribe                    -      -   -    -     -     -     1-1  1-1  1-1  1-1
78  ShareFetch                            -      -   -    -     -     -     1-1  1-2  1-2  1-2
79  ShareAcknowledge                      -      -   -    -     -     -     1-1  1-2  1-2  1-2
80  AddRaftVoter                          -      -   -    0-0   0-0   0-0   0-0  0-1  0-1  0-1
81  RemoveRaftVoter                       -      -   -    0-0   0-0   0-0   0-0  0-0  0-0  0-0
83  InitializeShareGroupState             -      -   -    -     -     -     0-0  0-0  0-0  0-0
84  ReadShareGroupState                   -      -   -    -     -     -     0-0  0-0  0-0  0-0
85  WriteShareGroupState                  -      -   -    -     -     -     0-0  0-1  0-1  0-1
86  DeleteShareGroupState                 -      -   -    -     -     -     0-0  0-0  0-0  0-0
87  ReadShareGroupStateSummary            -      -   -    -     -     -     0-0  0-1  0-1  0-1
88  StreamsGroupHeartbeat                 -      -   -    -     -     -     -    0-0  0-0  0-1
89  StreamsGroupDescribe                  -      -   -    -     -     -     -    0-0  0-0  0-1
90  DescribeShareGroupOffsets             -      -   -    -     -     -     0-0  0-1  0-1  0-1
91  AlterShareGroupOffsets                -      -   -    -     -     -     0-0  0-0  0-0  0-0
92  DeleteShareGroupOffsets               -      -   -    -     -     -     0-0  0-0  0-0  0-0
93  StreamsGroupTopologyDescriptionUpdate -      -   -    -     -     -     -    -    -    0-0
94  UnregisterController                  -      -   -    -     -     -     -    -    -    0-0
"""
"""What brokers of a release answer to clients: the oldest and the newest version, `-` where they have none."""

CLIENT_VERSIONS = """\
key request                               0.8.2 0.9 0.10.0 0.10.1 0.10.2 0.11 1.0 1.1 2.0 2.1 2.4 2.8 3.9 4.4
0   Produce                               0     1   2      2      2      3    5   5   6   7   8   9   11  13
1   Fetch                                 0     1   2      3      3      5    6   7   8   10  11  12  17  18
2   ListOffsets                           0     0   0      1      1      2    2   2   3   4   5   6   9   11
3   Metadata                              0     0   1      2      2      4    5   5   6   7   9   11  12  13
8   OffsetCommit                          1     2   2      2      2      3    3   3   4   6   8   8   9   10
9   OffsetFetch                           1     1   1      1      2      3    3   3   4   5   6   7   9   10
10  FindCoordinator                       0     0   0      0      0      1    1   1   2   2   3   3   6   6
11  JoinGroup                             0     0   0      1      1      2    2   2   3   3   6   7   9   9
12  Heartbeat                             0     0   0      0      0      1    1   1   2   2   4   4   4   4
13  LeaveGroup                            -     0   0      0      0      1    1   1   2   2   4   4   5   5
14  SyncGroup                             -     0   0      0      0      1    1   1   2   2   4   5   5   5
15  DescribeGroups                        -     0   0      0      0      1    1   1   2   2   5   5   5   6
16  ListGroups                            -     0   0      0      0      1    1   1   2   2   3   4   5   5
17  SaslHandshake                         -     -   0      0      0      0    1   1   1   1   1   1   1   1
18  ApiVersions                           -     -   0      0      0      1    1   1   2   2   3   3   4   5
19  CreateTopics                          -     -   -      0      1      2    2   2   3   3   5   7   7   7
20  DeleteTopics                          -     -   -      0      0      1    1   1   2   3   4   6   6   6
21  DeleteRecords                         -     -   -      -      -      0    0   0   1   1   1   2   2   2
22  InitProducerId                        -     -   -      -      -      0    0   0   1   1   2   4   5   5
23  OffsetForLeaderEpoch                  -     -   -      -      -      0    0   0   1   2   3   4   4   4
24  AddPartitionsToTxn                    -     -   -      -      -      0    0   0   1   1   1   3   5   5
25  AddOffsetsToTxn                       -     -   -      -      -      0    0   0   1   1   1   3   4   4
26  EndTxn                                -     -   -      -      -      0    0   0   1   1   1   3   4   5
27  WriteTxnMarkers                       -     -   -      -      -      0    0   0   0   0   0   1   1   2
28  TxnOffsetCommit                       -     -   -      -      -      0    0   0   1   2   2   3   4   6
29  DescribeAcls                          -     -   -      -      -      0    0   0   1   1   1   2   3   3
30  CreateAcls                            -     -   -      -      -      0    0   0   1   1   1   2   3   3
31  DeleteAcls                            -     -   -      -      -      0    0   0   1   1   1   2   3   3
32  DescribeConfigs                       -     -   -      -      -      0    0   1   2   2   2   4   4   4
33  AlterConfigs                          -     -   -      -      -      0    0   0   1   1   1   2   2   2
34  AlterReplicaLogDirs                   -     -   -      -      -      -    0   0   1   1   1   2   2   2
35  DescribeLogDirs                       -     -   -      -      -      -    0   0   1   1   1   2   4   5
36  SaslAuthenticate                      -     -   -      -      -      -    0   0   0   0   1   2   2   2
37  CreatePartitions                      -     -   -      -      -      -    0   0   1   1   1   3   3   3
38  CreateDelegationToken                 -     -   -      -      -      -    -   0   1   1   2   2   3   3
39  RenewDelegationToken                  -     -   -      -      -      -    -   0   1   1   1   2   2   2
40  ExpireDelegationToken                 -     -   -      -      -      -    -   0   1   1   1   2   2   2
41  DescribeDelegationToken               -     -   -      -      -      -    -   0   1   1   1   2   3   3
42  DeleteGroups                          -     -   -      -      -      -    -   0   1   1   2   2   2   3
43  ElectLeaders                          -     -   -      -      -      -    -   -   -   -   2   2   2   2
44  IncrementalAlterConfigs               -     -   -      -      -      -    -   -   -   -   1   1   1   1
45  AlterPartitionReassignments           -     -   -      -      -      -    -   -   -   -   0   0   0   1
46  ListPartitionReassignments            -     -   -      -      -      -    -   -   -   -   0   0   0   0
47  OffsetDelete                          -     -   -      -      -      -    -   -   -   -   0   0   0   0
48  DescribeClientQuotas                  -     -   -      -      -      -    -   -   -   -   -   1   1   1
49  AlterClientQuotas                     -     -   -      -      -      -    -   -   -   -   -   1   1   1
50  DescribeUserScramCredentials          -     -   -      -      -      -    -   -   -   -   -   0   0   0
51  AlterUserScramCredentials             -     -   -      -      -      -    -   -   -   -   -   0   0   0
55  DescribeQuorum                        -     -   -      -      -      -    -   -   -   -   -   0   2   2
57  UpdateFeatures                        -     -   -      -      -      -    -   -   -   -   -   0   1   2
60  DescribeCluster                       -     -   -      -      -      -    -   -   -   -   -   0   1   2
61  DescribeProducers                     -     -   -      -      -      -    -   -   -   -   -   0   0   0
64  UnregisterBroker                      -     -   -      -      -      -    -   -   -   -   -   0   0   0
65  DescribeTransactions                  -     -   -      -      -      -    -   -   -   -   -   -   0   0
66  ListTransactions                      -     -   -      -      -      -    -   -   -   -   -   -   1   2
68  ConsumerGroupHeartbeat                -     -   -      -      -      -    -   -   -   -   -   -   0   1
69  ConsumerGroupDescribe                 -     -   -      -      -      -    -   -   -   -   -   -   0   1
71  GetTelemetrySubscriptions             -     -   -      -      -      -    -   -   -   -   -   -   0   0
72  PushTelemetry                         -     -   -      -      -      -    -   -   -   -   -   -   0   0
74  ListConfigResources                   -     -   -      -      -      -    -   -   -   -   -   -   0   1
75  DescribeTopicPartitions               -     -   -      -      -      -    -   -   -   -   -   -   0   0
76  ShareGroupHeartbeat                   -     -   -      -      -      -    -   -   -   -   -   -   -   1
77  ShareGroupDescribe                    -     -   -      -      -      -    -   -   -   -   -   -   -   1
78  ShareFetch                            -     -   -      -      -      -    -   -   -   -   -   -   -   2
79  ShareAcknowledge                      -     -   -      -      -      -    -   -   -   -   -   -   -   2
80  AddRaftVoter                          -     -   -      -      -      -    -   -   -   -   -   -   0   1
81  RemoveRaftVoter                       -     -   -      -      -      -    -   -   -   -   -   -   0   0
83  InitializeShareGroupState             -     -   -      -      -      -    -   -   -   -   -   -   -   0
84  ReadShareGroupState                   -     -   -      -      -      -    -   -   -   -   -   -   -   0
85  WriteShareGroupState                  -     -   -      -      -      -    -   -   -   -   -   -   -   1
86  DeleteShareGroupState                 -     -   -      -      -      -    -   -   -   -   -   -   -   0
87  ReadShareGroupStateSummary            -     -   -      -      -      -    -   -   -   -   -   -   -   1
88  StreamsGroupHeartbeat                 -     -   -      -      -      -    -   -   -   -   -   -   -   1
89  StreamsGroupDescribe                  -     -   -      -      -      -    -   -   -   -   -   -   -   1
90  DescribeShareGroupOffsets             -     -   -      -      -      -    -   -   -   -   -   -   -   1
91  AlterShareGroupOffsets                -     -   -      -      -      -    -   -   -   -   -   -   -   0
92  DeleteShareGroupOffsets               -     -   -      -      -      -    -   -   -   -   -   -   -   0
93  StreamsGroupTopologyDescriptionUpdate -     -   -      -      -      -    -   -   -   -   -   -   -   0
94  UnregisterController                  -     -   -      -      -      -    -   -   -   -   -   -   -   0
"""
"""The newest version that Java clients of a release know, `-` where they have none."""
