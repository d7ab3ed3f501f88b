# SPDX-License-Identifier: MIT
# template.sed - makes sherwoodd@.service of sherwoodd.service.
s|^# sherwoodd.service - .*|# sherwoodd@.service - one of several daemons, such as one a GPU; of sherwoodd.service.|
/^# sherwoodd@.service of it/d
/^# .*sherwoodd\.socket/d
/^RuntimeDirectoryPreserve=/d
s|^Description=.*|Description=Sherwood key-value server, instance %i|
s|^\(ExecStart=.*\)/sherwood\.conf$|\1/%i.conf|
s|^RuntimeDirectory=sherwood$|RuntimeDirectory=sherwood/%i|
s|^StateDirectory=sherwood$|StateDirectory=sherwood/%i|
s|^CacheDirectory=sherwood$|CacheDirectory=sherwood/%i|
s|^\(Environment=CUDA_CACHE_PATH=.*\)|\1/%i|
s|data-dir = /var/lib/sherwood|data-dir = /var/lib/sherwood/INSTANCE|
s|^LoadCredential=sherwood\.\(.*\)|LoadCredential=sherwood.\1:sherwood.%i.\1|
s|/run/credentials/sherwoodd\.service/|/run/credentials/sherwoodd@INSTANCE.service/|
