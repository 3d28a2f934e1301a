"""The errors of the state questions."""

from nbaccel.exceptions import RaySystemError


class RayStateApiException(RaySystemError):
    """A state question could not be answered."""


class ServerUnavailable(RayStateApiException):
    """There is no cluster to ask."""


class DataSourceUnavailable(RayStateApiException):
    """A part of the cluster that would have to be asked does not answer."""
