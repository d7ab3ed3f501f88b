# SPDX-License-Identifier: MIT
"""sherwood - client of the Sherwood key-value server.

    import numpy as np, sherwood
    c = sherwood.connect("127.0.0.1:7379")
    c.set_many(np.arange(1000), np.arange(1000) * 2)
    values, found = c.get_many([1, 2, 5000])
"""

from ._client import Client, connect, connect_cluster
from ._device import Device
from ._errors import Denied, Error, Failed, Full, Lost, Refused, Timeout
from ._facts import Server
from ._keys import hash_key, text_key
from ._local import LocalClient, open_local as open  # pylint: disable=redefined-builtin
from ._regions import Region
from ._version import __version__

__all__ = ["Client", "Denied", "Device", "Error", "Failed", "Full", "LocalClient", "Lost", "Refused", "Region", "Server", "Timeout",
           "connect", "connect_cluster", "hash_key", "open", "text_key", "__version__"]
