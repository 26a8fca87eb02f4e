"""The options of an object store: those given, then what environment and profile of this process say.

Names are obstore's: `aws_access_key_id`, `aws_endpoint`, `google_service_account`, `azure_storage_account_key`, ...
Here is only what can be handed to another machine; roles of a machine are found by the library, where it reads.
"""

import configparser
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...config.similar_names import nearest
from ..failures import BadUsage

_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
_S3 = {name: name for name in (*_KEYS, "aws_region", "aws_endpoint", "aws_allow_http", "aws_skip_signature")} | {
    "aws_default_region": "aws_region",
    "aws_endpoint_url": "aws_endpoint",
    "aws_endpoint_url_s3": "aws_endpoint",
}
_GS = {name: name for name in ("google_service_account", "google_service_account_key", "google_skip_signature")} | {
    "google_application_credentials": "google_application_credentials"
}
_AZURE = {
    f"azure_{name}": f"azure_{name}"
    for name in (
        *("storage_account_name", "storage_account_key", "storage_sas_key", "storage_endpoint", "skip_signature"),
        *("storage_client_id", "storage_client_secret", "storage_tenant_id"),
    )
}
_ENVIRONMENT = {"s3": _S3, "s3a": _S3, "gs": _GS, "abfss": _AZURE, "abfs": _AZURE, "az": _AZURE}
"""By scheme: variables of the environment in small letters, and the option that each sets."""
SCHEMES = (*_ENVIRONMENT, "http", "https")
_OF_ALL = ("allow_http", "read_timeout", "retry_timeout")
"""Options of stores of all kinds."""
_OF_ONE = ("aws_", "google_", "azure_")
"""How the options of one kind begin, which the library knows."""


def check_option_names(given: Iterable[str]) -> None:
    """Raises: BadUsage for an option that no store has."""
    for name in given:
        if name not in _OF_ALL and not name.startswith(_OF_ONE):
            near = nearest(name, _OF_ALL)
            begins = f"there are {', '.join(_OF_ALL)} and those that begin with {', '.join(_OF_ONE)}"
            raise BadUsage(f"a store has no option {name}: {f'is {near} meant?' if near else begins}")


def environment_options(scheme: str, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the options for a store of this scheme.

    Given options come first, then environment variables, then the AWS profile.
    """
    found = dict(given)
    variables = {name.lower(): value for name, value in os.environ.items() if value}
    for name, option in _ENVIRONMENT.get(scheme, {}).items():
        if name in variables:
            found.setdefault(option, variables[name])
    if scheme in {"s3", "s3a"}:
        profile = _read_aws_profile()
        if "aws_access_key_id" in found:  # keys go together
            profile = {name: value for name, value in profile.items() if name not in _KEYS}
        found = {"aws_region": "us-east-1"} | profile | found
    return found


def _read_aws_profile() -> dict[str, str]:
    """Keys, region and endpoint of the profile that AWS_PROFILE names; nothing where the files have none."""
    name = os.environ.get("AWS_PROFILE", "default")
    folder = Path.home() / ".aws"
    credentials = _read_section(Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials")), name)
    config = _read_section(
        Path(os.environ.get("AWS_CONFIG_FILE", folder / "config")), name if name == "default" else f"profile {name}"
    )
    named = {"region": "aws_region", "endpoint_url": "aws_endpoint"} | {key: key for key in _KEYS}
    return {named[key]: value for key, value in (config | credentials).items() if key in named}


def _read_section(file: Path, name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(file)
        return dict(parser[name])
    except (configparser.Error, KeyError, OSError):
        return {}
