# SPDX-License-Identifier: Apache-2.0

"""How the documentation is built."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'ext'))

project = 'cell0-rebuild'
copyright = 'The cell0-rebuild developers'

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
    'internals',
]
config_generator_config_file = (
    '../../etc/cell0_rebuild/config-generator.conf')
sample_config_basename = 'admin/cell0_rebuild'
exclude_patterns = [
    'contributor/*-table.rst', 'contributor/performance/*']
html_theme = 'openstackdocs'
pygments_style = 'native'
# Most blocks are commands, configuration or lines of a log.
highlight_language = 'none'
templates_path = ['_templates']
html_static_path = ['_static']
html_css_files = ['pages.css']
# It is not hosted by OpenStack, whose pages and bug tracker the theme knows.
openstackdocs_auto_name = False
openstackdocs_auto_version = False
version = release = ''
html_theme_options = {'display_global_toc_section': True,
                      'show_other_versions': False,
                      'analytics_tracking_code': '',
                      'display_badge': False}
