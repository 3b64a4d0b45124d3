# Installation and Debian packages: `cmake --install build/release`, or `cpack` in the build folder for
# a .deb per program. The units in systemd/ name /usr/bin and /etc, so that is where things go.
include(GNUInstallDirs)

function(lgr_service name)
  install(TARGETS logarithm-${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${name})
  install(FILES systemd/logarithm-${name}.service DESTINATION lib/systemd/system COMPONENT ${name})
  install(FILES systemd/logarithm-${name}.sysusers DESTINATION lib/sysusers.d
    RENAME logarithm-${name}.conf COMPONENT ${name})
  install(FILES systemd/logarithm-${name}.tmpfiles DESTINATION lib/tmpfiles.d
    RENAME logarithm-${name}.conf COMPONENT ${name})
  install(FILES config/${name}.example.yaml DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/logarithm
    RENAME ${name}.yaml COMPONENT ${name} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  string(TOUPPER ${name} upper)
  set(scripts ${CMAKE_BINARY_DIR}/deb/${name})
  foreach(script postinst prerm postrm conffiles)
    configure_file(systemd/deb/${name}.${script} ${scripts}/${script} COPYONLY)
  endforeach()
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME logarithm-${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
    "${scripts}/postinst;${scripts}/prerm;${scripts}/postrm;${scripts}/conffiles" PARENT_SCOPE)
endfunction()

lgr_service(agent)
lgr_service(aggregator)
install(TARGETS logarithm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR Logarithm)
set(CPACK_PACKAGE_CONTACT "Logarithm <logarithm@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Logging engine for distributed training")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL agent aggregator cli)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CLI_PACKAGE_NAME logarithm)
set(CPACK_COMPONENT_AGENT_DESCRIPTION "Collects the logs of training jobs on this host")
set(CPACK_COMPONENT_AGGREGATOR_DESCRIPTION "Stores the logs of training jobs and answers questions about them")
set(CPACK_COMPONENT_CLI_DESCRIPTION "Asks a Logarithm aggregator about training jobs")
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers")
set(CPACK_DEBIAN_AGGREGATOR_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers")
# --files starts the two programs beside it.
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS "logarithm-agent, logarithm-aggregator")
include(CPack)
