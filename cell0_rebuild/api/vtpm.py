#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The virtual TPM of a buried server, before it is rebuilt."""

from __future__ import annotations

import typing as ty

from nova import objects
from nova.virt import hardware

from cell0_rebuild.api import image as images
from cell0_rebuild.api import refusals
from cell0_rebuild import releases

# The secret is Nova's own then, whoever asks for the server.
_DEPLOYMENT = 'deployment'


def check(context: ty.Any, instance: ty.Any, image: images.Image) -> None:
    """Check that its secret will be made where its owner can read it.

    :param context: the caller's, whose token makes the secret.
    :raises HTTPConflict: if it would be made in the wrong project.
    """
    if context.project_id == instance.project_id:
        return
    wanted = hardware.get_vtpm_constraint(
        instance.flavor, objects.ImageMeta.from_dict(image.meta))
    security = releases.tpm_secret_security(instance.flavor)
    if wanted is None or security == _DEPLOYMENT:
        return
    refusals.conflict(
        f'Server {instance.uuid} gets a vTPM when it is built, and its secret '
        f'would be made in your project instead of project '
        f'{instance.project_id}. Have a user of that project rebuild it.')
