# SPDX-License-Identifier: Apache-2.0

"""How the release notes are built."""

project = 'cell0-rebuild release notes'
copyright = 'The cell0-rebuild developers'

extensions = [
    'openstackdocstheme',
    'reno.sphinxext',
]
html_theme = 'openstackdocs'
pygments_style = 'native'
# It is not hosted by OpenStack, whose pages and bug tracker the theme knows.
openstackdocs_auto_name = False
openstackdocs_auto_version = False
version = release = ''
html_theme_options = {'display_global_toc_section': True,
                      'show_other_versions': False}
