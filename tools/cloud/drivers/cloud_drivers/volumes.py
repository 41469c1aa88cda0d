# SPDX-License-Identifier: Apache-2.0

"""Volumes that are sparse files."""

import os
import pathlib
import subprocess

from cinder import interface
from cinder.volume import driver
from oslo_config import cfg

_GIB = 1024 ** 3


@interface.volumedriver
class FileDriver(driver.VolumeDriver):
    """A backend that needs no volume manager and no root.

    Hosts are handed the path of the file.
    """

    VERSION = '1.0.0'

    def check_for_setup_error(self):
        """Make the folder of the files."""
        self._folder.mkdir(exist_ok=True)

    def create_volume(self, volume):
        """Make an empty file."""
        self._path(volume).touch()
        self.extend_volume(volume, volume.size)

    def delete_volume(self, volume):
        """Delete the file."""
        self._path(volume).unlink(missing_ok=True)

    def extend_volume(self, volume, new_size):
        """Make the file larger."""
        os.truncate(self._path(volume), new_size * _GIB)

    def create_snapshot(self, snapshot):
        """Copy the file."""
        _copy(self._path(snapshot.volume), self._path(snapshot))

    delete_snapshot = delete_volume

    def create_cloned_volume(self, volume, src_vref):
        """Copy the file of another volume, or of a snapshot."""
        _copy(self._path(src_vref), self._path(volume))
        self.extend_volume(volume, volume.size)

    create_volume_from_snapshot = create_cloned_volume

    def clone_image(self, context, volume, image_location, image_meta,
                    image_service):
        """Make a file with an image, which is raw, at its beginning."""
        self.copy_image_to_volume(
            context, volume, image_service, image_meta['id'])
        return {}, True

    def copy_image_to_volume(self, context, volume, image_service, image_id,
                             disable_sparse=False):
        """Replace all that is in the file by an image, which is raw."""
        with self._path(volume).open('wb') as stream:
            image_service.download(context, image_id, stream)
        self.extend_volume(volume, volume.size)

    def ensure_export(self, context, volume, connector=None):
        """Do nothing: the files are on the same machine."""

    create_export = remove_export = ensure_export

    def initialize_connection(self, volume, connector):
        """Tell where the file is."""
        # The name by which Nova has libvirt open a file.
        return {'driver_volume_type': 'gpfs',
                'data': {'device_path': str(self._path(volume))}}

    def terminate_connection(self, volume, connector, **kwargs):
        """Do nothing: nothing was opened."""

    def _update_volume_stats(self):
        self._stats = {
            'volume_backend_name': self.configuration.volume_backend_name,
            'vendor_name': 'cell0-rebuild', 'driver_version': self.VERSION,
            'storage_protocol': 'local', 'total_capacity_gb': 10000,
            'free_capacity_gb': 10000, 'multiattach': True}

    @property
    def _folder(self):
        return pathlib.Path(cfg.CONF.state_path, 'volumes')

    def _path(self, volume):
        return self._folder / volume.id


def _copy(source, target):
    subprocess.run(['cp', '--sparse=always', source, target], check=True)
