"""The volumes of a pod that restrict where it can run: claims, CSI volumes, and in-tree disks."""

import msgspec

from reprieve.model.objects.meta import Ignored, Int32, Record


class ClaimSource(Record, frozen=True):
    claim_name: str = ""


class GcePersistentDisk(Record, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AwsElasticBlockStore(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")
    read_only: bool = False


class AzureDisk(Record, frozen=True):
    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str = "Shared"


class Cinder(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class PortworxVolume(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class CloudDisk(Record, frozen=True):
    """A disk in in-tree fields, not through a CSI driver; at most one of these is set."""

    gce_persistent_disk: GcePersistentDisk | None = None
    aws_elastic_block_store: AwsElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None


class Iscsi(Record, frozen=True):
    iqn: str = ""
    lun: Int32 = 0
    target_portal: str = ""
    read_only: bool = False


class Rbd(Record, frozen=True):
    monitors: tuple[str, ...] = ()
    pool: str = "rbd"
    image: str = ""
    read_only: bool = False


class CsiSource(Record, frozen=True):
    driver: str = ""


class ImageSource(Record, frozen=True):
    reference: str = ""


class Volume(CloudDisk, frozen=True):
    name: str = ""
    image: ImageSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Ignored | None = None
    iscsi: Iscsi | None = None
    rbd: Rbd | None = None
    csi: CsiSource | None = None
