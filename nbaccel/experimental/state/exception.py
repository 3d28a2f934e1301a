"""Ray's first path of the errors of the state questions."""

from nbaccel.util.state.exception import DataSourceUnavailable, RayStateApiException, ServerUnavailable

__all__ = ["DataSourceUnavailable", "RayStateApiException", "ServerUnavailable"]
